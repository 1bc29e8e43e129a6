"""Measures: what is computed for a classifier, an image set and a nuisance. Rows per image, and a summary."""

from brittle.registry import Registry

measures: Registry[object] = Registry("measure", __name__)
register = measures.register
