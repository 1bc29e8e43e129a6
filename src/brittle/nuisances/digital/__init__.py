"""Nuisances that come from storing an image with too few bits or pixels."""
