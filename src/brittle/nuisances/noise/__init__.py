"""Noise: nuisances with independent randomness in every pixel."""
