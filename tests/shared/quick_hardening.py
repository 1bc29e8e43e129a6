"""Hardenings that take seconds."""

ALPHA = "affine:alpha=100"
QUICK = {"rounds": 2, "steps": 2, "calls": 1200, "samples": 2, "held_out": 0.05, "ways": (1.0,)}
COMMAND = (
    "harden",
    "bundled:plain",
    "sample",
    "--nuisance",
    ALPHA,
    "--rounds",
    1,
    "--steps",
    2,
    "--samples",
    2,
    "--calls",
    1200,
)
