"""Failure points: the severity at which a prediction becomes wrong (CNS-Bench 2025, section 3.3)."""
