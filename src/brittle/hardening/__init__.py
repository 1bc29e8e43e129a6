"""Hardening: re-training a classifier on its weak points, in rounds, measured before and after.

It stands on top, as `api` does: `training` and `measures` know nothing of it."""
