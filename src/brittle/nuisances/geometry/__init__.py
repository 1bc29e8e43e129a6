"""Nuisances that move pixels."""
