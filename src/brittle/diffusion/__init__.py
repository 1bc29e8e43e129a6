"""Diffusion pipelines of diffusers: loaded by name or folder, sliders put into them, images taken out of them."""
