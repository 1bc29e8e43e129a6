"""Weak points shown: what images are taken for, where that leads, which parameters break a classifier, and whether the
draws can be trusted."""
