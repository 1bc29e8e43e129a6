"""Measures that ask no classifier: they make images, and what images are made with."""

MAKING = frozenset({"generate", "train-sliders", "train-tokens"})
