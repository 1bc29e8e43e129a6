"""Corruption errors: errors under shifts, set against those of a reference classifier (CNS-Bench 2025, equation 6)."""
