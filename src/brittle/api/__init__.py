"""The few functions most people need: measure a classifier, compare classifiers, sample weak points, run a study."""

from brittle.api.agreement import agreement
from brittle.api.along_shifts import corruption_error, line, rank
from brittle.api.augmentation import affinity
from brittle.api.breaking_points import breaking_points
from brittle.api.connectedness import connect
from brittle.api.cue_conflict import cue_conflict
from brittle.api.error_consistency import error_consistency
from brittle.api.export import export, rows
from brittle.api.failure_points import failure_points
from brittle.api.hardening import harden
from brittle.api.interference import interference
from brittle.api.layer_changes import layer_changes
from brittle.api.layer_noise import layer_noise
from brittle.api.occlusion import occlusion
from brittle.api.perturbation import perturb
from brittle.api.robustness import compare, measure
from brittle.api.shuffling import shuffling
from brittle.api.studies import run, study_of
from brittle.api.training import train
from brittle.api.weak_points import sample

__all__ = [
    "affinity",
    "agreement",
    "breaking_points",
    "compare",
    "connect",
    "corruption_error",
    "cue_conflict",
    "error_consistency",
    "export",
    "failure_points",
    "harden",
    "interference",
    "layer_changes",
    "layer_noise",
    "line",
    "measure",
    "occlusion",
    "perturb",
    "rank",
    "rows",
    "run",
    "sample",
    "shuffling",
    "study_of",
    "train",
]
