"""How many cases: a few hundred of each target, the same every time; or BRITTLE_FUZZ=100000, new ones (`make fuzz`)."""

import os

from hypothesis import HealthCheck, settings

CASES = os.environ.get("BRITTLE_FUZZ")

settings.register_profile(
    "brittle",
    max_examples=int(CASES or 250),
    derandomize=CASES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("brittle")
