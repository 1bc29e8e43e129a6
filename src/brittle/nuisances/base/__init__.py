"""What nuisances are built on: their priors, levels and seeds, and their composition. Nothing here is registered."""
