"""Noise on single layers of a classifier, and on its weights (UREM, figure 7)."""
