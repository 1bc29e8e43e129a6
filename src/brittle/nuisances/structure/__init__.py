"""Nuisances that rearrange the parts of an image."""
