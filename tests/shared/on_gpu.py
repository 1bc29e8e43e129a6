"""Which device the tests of a GPU run on; "" for none. BRITTLE_GPU=cpu tries the tests themselves without one."""

import os

import torch

DEVICE = os.environ.get("BRITTLE_GPU", "cuda" if torch.cuda.is_available() else "")
