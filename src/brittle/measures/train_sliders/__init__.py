"""Sliders trained as a measure's rows: one for every class and shift."""
