"""Effective draws per 1,000 classifier calls of every sampler, on the same images, in one run.

    python benchmarks/samplers.py [--images 20] [--nuisance affine:alpha=100 …] [--device cpu]

Images are the first of the bundled sample that the classifier gets right. For chains the effective size is the least
bulk ESS over parameters, for populations the lesser of Kish's size and the least weighted size; the table has the
median over images. Every call counts: starts, burn-in, all temperatures, and a gradient as three. Beside what a
population claims stands what it keeps: over repeated runs with other seeds, the variance of the posterior's mean
against the posterior's own variance (median over images and parameters of realised over claimed size). With --hard
the classifier answers 0 or 1 and nothing between.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from brittle.classifiers import classifier
from brittle.engine.store.run_folder import environment
from brittle.images import image_set
from brittle.measures.answers import Answers
from brittle.measures.outcomes import Outcome
from brittle.measures.weak_points.diagnosis import Diagnosis, diagnose
from brittle.measures.weak_points.posterior import Posterior
from brittle.nuisances import nuisance
from brittle.random import fold, stream_root
from brittle.samplers import sampler
from brittle.samplers.chain import ChainSampler
from brittle.samplers.target import Budget
from brittle.types import Batch, Classifier

METROPOLIS = [f"metropolis:step={step},adapt=no" for step in (0.3, 0.6, 1, 2)]
SAMPLERS = [
    "rejection",
    "importance",
    *METROPOLIS,
    "metropolis",
    "crank-nicolson",
    "independence",
    "langevin",
    "tempered",
    "smc",
    "adaptive",
    "auto",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--classifier", nargs="+", default=["bundled:plain", "bundled:augmented"])
    parser.add_argument("--nuisance", nargs="+", default=["affine:alpha=400"])
    parser.add_argument("--sampler", nargs="+", default=SAMPLERS)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--hard", action="store_true", help="give the likeliest class a probability of 1")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="also write the rows there, as JSON")
    chosen = parser.parse_args()
    rows = []
    for name in chosen.classifier:
        for space in chosen.nuisance:
            found = compared(name, space, chosen)
            print(table(f"{name}{', hard' if chosen.hard else ''}", space, found), flush=True)
            rows += found
    if chosen.out is not None:
        chosen.out.write_text(json.dumps({"rows": rows, "environment": environment()}, indent=1))


def right(name: str, count: int, hard: bool, device: str) -> tuple[Classifier, Batch]:
    """A classifier, and the first images of the sample that it gets right."""
    network, images = classifier(name, device=device), image_set("sample")
    batch = images.choose(None, 0).batch(range(4 * count), torch.device(device))
    good = (network.log_probs(batch.images).argmax(1) == batch.labels).nonzero()[:count, 0]
    if hard:
        soft, classes = network, len(network.labels)
        network = classifier(lambda x: F.one_hot(soft.log_probs(x).argmax(1), classes).float(), device=device)
        network.log_probs(batch.images)  # which shows that it is hard
    return network, batch.take(good)


def compared(name: str, space: str, chosen: argparse.Namespace) -> list[dict[str, object]]:
    network, batch = right(name, chosen.images, chosen.hard, chosen.device)
    rows = []
    for spec in chosen.sampler:
        draw, began = sampler(spec), time.perf_counter()
        runs = []
        for seed in range(1 if isinstance(draw, ChainSampler) else chosen.repeats):
            root = stream_root(seed, "samplers", chosen.device)
            posterior = Posterior(
                Answers(batch, {name: network}, 160),
                name,
                batch.labels,
                fold(fold(root, 1), batch.ids),
                fold(fold(root, 2), batch.ids),
                nuisance(space),
                draw.space,
            )
            drawn = draw.sample(posterior, Budget())
            images, chains, steps = drawn.log_weight.shape
            flat = drawn.position.double().flatten(1, 2)
            theta = posterior.theta(flat)
            log_prior = posterior.density(flat, theta).view(images, chains, steps)
            runs.append(
                diagnose(
                    posterior,
                    drawn,
                    theta.float().view(images, chains, steps, -1),
                    log_prior,
                    Outcome.unpacked(drawn.outcomes).predicted.long(),
                )
            )
        seconds = (time.perf_counter() - began) / len(runs)
        rows.append({"classifier": name, "nuisance": space, "sampler": spec, "seconds": seconds} | told(runs))
        print(f"{name} {space} {spec}: {rows[-1]}", flush=True)
    return rows


def told(runs: list[list[Diagnosis]]) -> dict[str, object]:
    first = torch.tensor([[each.per_1000 for each in run] for run in runs])
    one_minus_mu = [each.one_minus_mu for each in runs[0] if each.one_minus_mu is not None]
    rhat = [each.rhat for each in runs[0] if each.rhat is not None]
    calls = torch.tensor([each.calls for each in runs[0]]).double().median()
    return {
        "calls": float(calls),
        "per_1000": float(first.median(1).values.median()),
        "least": float(first.median(1).values.min()),
        "trusted": sum(each.trusted for each in runs[0]) / len(runs[0]),
        "rhat": float(torch.tensor(rhat).median()) if rhat else None,
        "one_minus_mu": float(torch.tensor(one_minus_mu).median()) if one_minus_mu else None,
        "realised": realised(runs),
    }


def realised(runs: list[list[Diagnosis]]) -> float | None:
    """Median over images and parameters of (effective size that the spread of repeated runs shows) / (claimed)."""
    if len(runs) < 4:
        return None
    means = torch.tensor([[each.mean for each in run] for run in runs], dtype=torch.float64)
    spread = torch.tensor([[each.deviation for each in run] for run in runs], dtype=torch.float64).square().mean(0)
    within = torch.tensor(
        [[[value or 0.0 for value in each.parameter_effective] for each in run] for run in runs], dtype=torch.float64
    )
    # The posterior's variance is that within runs and between them: chains that stand apart see too little of it.
    between = means.var(0)
    return float(((spread + between) / between / within.mean(0)).median())


def table(name: str, space: str, rows: list[dict[str, object]]) -> str:
    one_minus_mu = next((row["one_minus_mu"] for row in rows if row["one_minus_mu"] is not None), float("nan"))
    lines = [
        f"### {name}, {space}: 1 − µ(x) {one_minus_mu:.2g} (median)",
        "",
        "| sampler | calls an image | effective / 1,000 calls | realised ÷ claimed | R̂ (median) | trusted | seconds |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        rhat = "" if row["rhat"] is None else f"{row['rhat']:.2f}"
        kept = "" if row["realised"] is None else f"{row['realised']:.2f}"
        lines.append(
            f"| {row['sampler']} | {row['calls']:.0f} | {row['per_1000']:.1f} | {kept} | {rhat} "
            f"| {100 * float(row['trusted']):.0f} % | {row['seconds']:.1f} |"  # type: ignore[arg-type]
        )
    by_name = {str(row["sampler"]): float(row["per_1000"]) for row in rows}  # type: ignore[arg-type]
    walks = [size for name, size in by_name.items() if name.startswith("metropolis")]
    if "auto" in by_name:
        others = {"best Metropolis": max(walks, default=None), "rejection": by_name.get("rejection")}
        told = [f"auto ÷ {name} {by_name['auto'] / max(size, 1e-9):.1f}" for name, size in others.items() if size]
        lines += ["", ", ".join(told)] if told else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
