"""`run`, a function per measure, `train` and `harden`. Made by `python -m brittle.api.generate`."""

from brittle.api.generated.generated_shifts import filter, generate, train_sliders, train_tokens
from brittle.api.generated.how_do_several_compare import corruption_error, error_consistency, line, ranking
from brittle.api.generated.how_robust_is_a_classifier import clean, robustness
from brittle.api.generated.reports_and_tables import check
from brittle.api.generated.start_here import run
from brittle.api.generated.train_and_harden import harden, train
from brittle.api.generated.what_does_it_look_at import augmentation, cue_conflict, interference, occlusion, shuffling
from brittle.api.generated.what_goes_on_inside import connectedness, layer_changes, layer_noise
from brittle.api.generated.where_does_it_break import breaking_points, failure_points, perturbation, weak_points

measure = robustness
compare = robustness
fail = failure_points
perturb = perturbation
sample = weak_points

__all__ = [
    "augmentation",
    "breaking_points",
    "check",
    "clean",
    "compare",
    "connectedness",
    "corruption_error",
    "cue_conflict",
    "error_consistency",
    "fail",
    "failure_points",
    "filter",
    "generate",
    "harden",
    "interference",
    "layer_changes",
    "layer_noise",
    "line",
    "measure",
    "occlusion",
    "perturb",
    "perturbation",
    "ranking",
    "robustness",
    "run",
    "sample",
    "shuffling",
    "train",
    "train_sliders",
    "train_tokens",
    "weak_points",
]
