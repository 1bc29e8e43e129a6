"""Whose errors are alike: error consistency (Geirhos et al. 2020)."""
