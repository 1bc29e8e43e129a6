"""Generated shifts (Dünkel et al. 2025): pipelines, tokens and sliders are trained, and benchmarks written."""
