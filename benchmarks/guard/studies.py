"""What Brittle saves beyond one measurement: several classifiers at once, searches in batches, fewer evaluations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from benchmarks.guard.material import DRAWS, IMAGES, NUISANCE, Material, column
from benchmarks.guard.networks import SMALL, small
from benchmarks.guard.turns import Case, Measured, Seconds, Turn, Unequal
from torch import Tensor, nn

import brittle
from brittle.measures.draws import draw_theta
from brittle.random import stream_root
from brittle.statistics.intervals import theorem1_images

PATHS = 100  # images whose breaking points are sought
STEP, LIMIT = 5.0, 100.0  # σ of 255
NOISE = "noise:sigma=0.1"
TOLERANCE = 0.005


def breaking_points(material: Material, skipped: dict[str, str]) -> list[BreakingPoints]:
    try:
        from captum.robust import MinParamPerturbation
    except Exception as error:  # missing, or broken beside these versions
        skipped["breaking points"] = f"captum: {type(error).__name__}: {str(error).splitlines()[0]}"
        return []
    return [BreakingPoints(material, MinParamPerturbation, halving=halving) for halving in (False, True)]


def eight_classifiers(material: Material) -> Case:
    torch.manual_seed(0)
    networks = {f"{filters} filters": small(filters).eval() for filters in SMALL}
    how: dict[str, Any] = {"samples": DRAWS, "count": IMAGES, "device": "cpu", "progress": False}

    def together() -> dict[str, float]:
        found = brittle.compare(networks, material.sample, NUISANCE, **how)
        return {row["classifier"]: row["rho"] for row in found["results"]}

    def alone() -> dict[str, float]:
        return {name: brittle.measure(each, material.sample, NUISANCE, **how)["rho"] for name, each in networks.items()}

    def equal(one: dict[str, float], other: dict[str, float]) -> str:
        apart = max(abs(one[name] - other[name]) for name in networks)
        if not apart <= 1e-6:
            raise Unequal(f"ρ of eight classifiers in one study and in eight differ by up to {apart:.2g}")
        return "ρ of each of the eight, to 1e-06"

    return Case(
        name="eight small classifiers",
        about=f"one study of eight networks (conv 5×5×4 to 18 – linear), {IMAGES} images × {DRAWS} affine draws, "
        "paired comparisons included, against eight studies of one without them",
        ours=together,
        theirs=alone,
        equal=equal,
        work=(len(networks), len(networks)),
        piece="classifiers",
        profile=together,
        goal="several classifiers share transformed images",
    )


class Counting(nn.Module):
    """A network that counts the images that it is shown."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network, self.shown = network, 0

    def forward(self, images: Tensor) -> Tensor:
        self.shown += len(images)
        return self.network(images)


class BreakingPoints:
    """Along one noise per image, scaled, as Brittle draws it; both take every severity in turn until the prediction
    changes, or both halve. Captum works on one image at a time, which is how its documentation wants it used, and
    halves from severity 0 on, which Brittle knows: it is the untouched image."""

    def __init__(self, material: Material, search: Any, *, halving: bool = False) -> None:
        self.sample, self.search, self.halving = material.sample, search, halving
        self.classifier, self.nuisance = brittle.classifier("bundled:plain", device="cpu"), brittle.nuisance(NOISE)
        self.network = self.classifier.module = Counting(self.classifier.module)
        self.batch = self.sample.choose(PATHS, 0).batch(range(PATHS))
        root = stream_root(0, "noise", "cpu")
        self.theta = draw_theta(self.nuisance, self.batch, torch.zeros(PATHS, dtype=torch.int64), root)
        self.severities = torch.arange(0, LIMIT + STEP, STEP, dtype=torch.float64).div(25.5).float()  # of σ = 0.1

    def ours(self) -> dict[int, int]:
        """Image → the place of its breaking point among the severities; −1 where there is none."""
        how: dict[str, Any] = {"count": PATHS, "step": STEP, "limit": LIMIT, "device": "cpu", "progress": False}
        how["search"] = "bisect" if self.halving else "first"
        rows = brittle.breaking_points(self.classifier, self.sample, NOISE, **how).rows
        met = np.where(column(rows, "broke"), column(rows, "place"), -1)
        return dict(zip(column(rows, "image").tolist(), met.tolist(), strict=True))

    @torch.inference_mode()
    def theirs(self) -> dict[int, int]:
        return {int(self.batch.ids[place]): self._sought(place) for place in range(PATHS)}

    def _sought(self, place: int) -> int:
        one, own = self.batch.take(torch.tensor([place])), self.theta[place : place + 1]

        def noisy(image: Tensor, at: int) -> Tensor:
            moved = self.nuisance.at(own, self.severities[at : at + 1], one)
            return self.nuisance.apply(one._replace(images=image), moved)

        clean = int(self.network(one.images).argmax(1))
        begin, mode = (0, "binary") if self.halving else (1, "linear")
        found = self.search(self.network, noisy, "at", begin, len(self.severities), 1, mode=mode)
        _, at = found.evaluate(one.images, target=clean)
        return -1 if at is None else int(at) - 1

    @staticmethod
    def equal(one: dict[int, int], other: dict[int, int]) -> str:
        differing = [key for key in other if one.get(key) != other[key]]
        if one.keys() != other.keys() or differing:
            raise Unequal(f"breaking points of {len(differing)} of {PATHS} images differ: {differing[:5]}")
        return f"the severity of each of the {PATHS} images"

    @property
    def name(self) -> str:
        return "breaking points by halving" if self.halving else "breaking points"

    def case(self) -> Case:
        how = " with `search=bisect`" if self.halving else ""
        return Case(
            name=self.name,
            about=f"`breaking-points`{how} of `bundled:plain` under Gaussian noise, {PATHS} images, "
            f"{len(self.severities) - 1} severities, against captum.robust.MinParamPerturbation, "
            f"{'binary' if self.halving else 'linear'}, on the same noise; only Brittle's side also has intervals",
            ours=self.ours,
            theirs=self.theirs,
            equal=self.equal,
            work=(PATHS, PATHS),
            profile=self.ours,
        )

    def passes(self) -> Measured:
        """Images that the network is shown, trials and padded places among Brittle's."""
        found, shown = [], []
        for side in (self.ours, self.theirs):
            self.network.shown = 0
            found.append(side())
            shown.append(self.network.shown)
        about = f"images that the network is shown in the case of {self.name}, trials among Brittle's"
        return counted(*shown, about, self.equal(*found), "forward passes")


def evaluations(material: Material) -> Measured:
    """Until the interval of ρ of this image set is as narrow, against as many draws as Hoeffding's inequality asks."""
    classifier = brittle.classifier("bundled:plain", device="cpu")
    measure = partial(brittle.measure, classifier, material.sample, NUISANCE, estimand="set", device="cpu")
    found = measure(tolerance=TOLERANCE, progress=False)
    plain = theorem1_images(TOLERANCE, 0.05)
    if not found["tolerance_reached"] or found["half_width"] > TOLERANCE:
        raise Unequal(f"the interval is ±{found['half_width']:.4f}, and ±{TOLERANCE:g} was meant")
    rounds = -(-plain // len(material.sample))
    by_hand = measure(samples=rounds, seed=1, progress=False)["rho"]
    apart = abs(by_hand - found["rho"])
    if not apart <= 2 * TOLERANCE:
        raise Unequal(f"ρ is {found['rho']:.4f}, and {by_hand:.4f} by {plain:,} draws")
    return counted(
        found["images"] * found["samples"],
        plain,
        f"ρ of `bundled:plain` on the {len(material.sample):,} bundled images to ±{TOLERANCE:g} at 95 %, valid "
        "whenever one stops, against plain Monte Carlo with Hoeffding's interval at its fixed end",
        f"half-width ≤ {TOLERANCE:g} on both sides; the two ρ̂ lie {apart:.1g} apart",
        "evaluations",
    )


def counted(ours: float, theirs: float, about: str, equal: str, piece: str) -> Measured:
    """As though each took a second, so that the ratio says how many times fewer ours are."""
    turn = Turn(Seconds(ours, ours), Seconds(theirs, theirs))
    return Measured(about, equal, (1, 1), piece, counted=True, rounds=[[turn]])
