"""A function per measure, `train` and `harden`. Made by `python -m brittle.api.generate`."""

from brittle.api.generated.how_do_several_compare import corruption_error, line, ranking
from brittle.api.generated.how_robust_is_a_classifier import clean, robustness
from brittle.api.generated.train_and_harden import harden, train
from brittle.api.generated.what_does_it_look_at import augmentation, interference, occlusion, shape
from brittle.api.generated.what_goes_on_inside import connectedness, layers
from brittle.api.generated.where_does_it_break import breaking_points, failure_points, perturbation, weak_points

measure = robustness
compare = robustness
fail = failure_points
perturb = perturbation
sample = weak_points

__all__ = [
    "augmentation",
    "breaking_points",
    "clean",
    "compare",
    "connectedness",
    "corruption_error",
    "fail",
    "failure_points",
    "harden",
    "interference",
    "layers",
    "line",
    "measure",
    "occlusion",
    "perturb",
    "perturbation",
    "ranking",
    "robustness",
    "sample",
    "shape",
    "train",
    "weak_points",
]
