"""Whether compiled graphs compute what plain modules do: rows of every nuisance, compiled and not.

`python benchmarks/compiled.py [--device cuda] [--nuisances affine noise …]` measures a small network with batch norms
on bundled images under each nuisance, once with `compile=yes` and once with `compile=no`, and prints how far
probabilities and ρ̂ lie apart, and whether the nuisance became a graph too. It ends with status 1 where θ differs, or a
probability by more than 1e-5. Compiling takes half a minute per nuisance on a CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import brittle
from brittle.measures import graphs
from brittle.nuisances import nuisances

LIMIT = 1e-5


class Compared(NamedTuple):
    """What compiling changed of one nuisance's rows."""

    traced: bool  # whether the nuisance became a graph
    rows: int
    same_theta: bool
    probability: float  # the largest difference
    rho: float
    seconds: float  # of the compiled run, compiling included


class Normed(nn.Module):
    """Two convolutions with batch norms that are not the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = nn.Conv2d(channels, 16, 3, 2, 1), nn.BatchNorm2d(16)
        self.second, self.other = nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32)
        self.last = nn.Linear(32, 10)
        for norm in (self.norm, self.other):
            norm.running_mean.uniform_(-0.2, 0.2)
            norm.running_var.uniform_(0.1, 0.5)
            norm.weight.data.uniform_(0.5, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found = self.norm(self.first(images)).relu()
        return self.last(self.other(self.second(found)).relu().mean((2, 3)))


def compared(spec: str, images: Any, device: str, count: int, samples: int) -> Compared:
    def rows(way: str) -> tuple[Any, float, float]:
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a network that was never trained is near chance
            found = brittle.run(
                {"net": Normed(1)}, images, spec, [f"robustness:samples={samples}"], compile=way, device=device,
                batch=count * samples // 2,
            ).of("robustness")  # fmt: skip
        table = found.rows.sort_by([("image", "ascending"), ("draw", "ascending")])
        return table, found["rho"], time.perf_counter() - begun

    plain, rho, _ = rows("no")
    before = set(graphs._COMPILED._kept)
    fast, other, seconds = rows("yes")
    made = [key for key in graphs._COMPILED._kept if key not in before and key[0] is graphs.change_in_numbers]
    traced = any(graphs._COMPILED._kept[key] is not graphs.change_in_numbers for key in made)
    apart = np.abs(np.exp(plain["log_p_label"].to_numpy()) - np.exp(fast["log_p_label"].to_numpy()))
    thetas = "theta" not in plain.column_names or plain["theta"].equals(fast["theta"])
    return Compared(traced, plain.num_rows, thetas, float(apart.max()), abs(rho - other), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nuisances", nargs="+", default=sorted(nuisances.names()))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--count", type=int, default=32, help="images")
    parser.add_argument("--samples", type=int, default=4, help="draws")
    options = parser.parse_args()
    chosen = brittle.image_set("sample").batch(list(range(options.count)))
    images = chosen.images.numpy(), chosen.labels.numpy()
    fine = True
    print("| nuisance | a graph | rows | θ | largest difference of a probability | of ρ̂ | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.nuisances:
        try:
            found = compared(name, images, options.device, options.count, options.samples)
        except brittle.BrittleError as error:
            print(f"| {name} | not measured: {error} | | | | | |", flush=True)
            continue
        fine &= found.same_theta and found.probability <= LIMIT
        traced, theta = "yes" if found.traced else "no", "same" if found.same_theta else "differs"
        numbers = f"{found.probability:.1e} | {found.rho:.1e} | {found.seconds:.0f}"
        print(f"| {name} | {traced} | {found.rows} | {theta} | {numbers} |", flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
