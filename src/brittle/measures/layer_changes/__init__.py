"""Targeted changes of what single layers of a classifier give (UREM, figure 2)."""
