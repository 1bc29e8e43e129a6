"""What a number of θ is measured in, for the axes of figures."""

from __future__ import annotations

from brittle.nuisances.geometry.affine import Affine
from brittle.nuisances.occlusion.rectangular import Occlusion
from brittle.types import Nuisance

TOLD_OF_AFFINE = {
    "rotation": "degrees clockwise",
    "shear": "degrees",
    "zoom x": "factor",
    "zoom y": "factor",
    "shift right": "pixels",
    "shift down": "pixels",
}


def with_unit(nuisance: Nuisance, parameter: str) -> str:
    """shift x (share of the width); the name alone where there is no unit, or none that is known."""
    unit = ""
    if isinstance(nuisance, Affine) and parameter in nuisance.told:
        unit = TOLD_OF_AFFINE[parameter]
    elif parameter in ("angle", "direction"):
        unit = "degrees"
    elif parameter in ("shift x", "shift y"):
        side = "width" if parameter == "shift x" else "height"
        unit = {"pixels": "pixels", "share": f"share of the {side}"}.get(getattr(nuisance, "unit", ""), f"half {side}s")
    elif isinstance(nuisance, Occlusion) and parameter.split()[0] in ("left", "top", "right", "bottom"):
        unit = "pixels"
    return f"{parameter} ({unit})" if unit else parameter
