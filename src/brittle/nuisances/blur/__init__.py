"""Nuisances that blur an image."""
