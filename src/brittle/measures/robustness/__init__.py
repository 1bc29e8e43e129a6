"""Robustness µ(x) and ρ under a nuisance's prior (Fawzi & Frossard 2016, section 2)."""
