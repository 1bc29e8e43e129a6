"""Accuracy on the line: accuracy under shifts against accuracy without, over classifiers (CNS-Bench 2025, A.6)."""
