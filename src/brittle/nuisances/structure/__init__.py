"""Nuisances that rearrange an image and keep its pixels."""
