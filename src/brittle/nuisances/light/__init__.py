"""Nuisances of light and colour."""
