"""Base classes of nuisances: priors, levels, seeds and composition. Nothing here is registered."""
