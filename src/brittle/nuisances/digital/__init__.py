"""Nuisances of storing an image with too few bits or pixels."""
