"""Nuisances that are random from pixel to pixel."""
