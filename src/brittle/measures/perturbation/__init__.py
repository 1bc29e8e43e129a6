"""Targeted perturbations: how far an image must be changed for a classifier to see another class in it."""
