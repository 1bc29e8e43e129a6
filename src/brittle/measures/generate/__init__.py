"""Images generated as a measure's rows: class by class, seed by seed, shift by shift, at every scale."""
