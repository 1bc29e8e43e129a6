"""The public functions: `run`, one function per measure, training and hardening, the gate, and a run's tables."""

from brittle.api import generated
from brittle.api.agreement import agreement
from brittle.api.check import compare_runs
from brittle.api.export import export, rows
from brittle.api.generated import *  # noqa: F403
from brittle.api.generated_images import labels_of
from brittle.api.generating import generation_cost
from brittle.api.run_folders import merge, status, verify
from brittle.tracking.log import log

__all__ = [
    "agreement",
    "compare_runs",
    "export",
    "generation_cost",
    "labels_of",
    "log",
    "merge",
    "rows",
    "status",
    "verify",
]
__all__ += generated.__all__
