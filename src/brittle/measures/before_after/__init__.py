"""Before and after: what became of a classifier, on the same images and the same θ."""
