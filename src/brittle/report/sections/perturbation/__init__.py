"""Shows targeted perturbations: sizes, matrices, bubbles, pictures."""
