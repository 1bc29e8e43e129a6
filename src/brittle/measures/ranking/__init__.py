"""Rankings of classifiers along the scale of a shift, with ties (CNS-Bench 2025, figures 6 and 7)."""
