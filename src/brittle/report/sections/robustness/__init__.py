"""Robustness shown: results, paired differences, curves over an option, classes, and what the classifiers saw."""
