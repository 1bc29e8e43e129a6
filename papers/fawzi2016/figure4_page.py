"""figure4.md: what the recogniser is, how well it holds out, how well its weak points were sampled, where they lie."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import torch
from faces import SIDE
from figure4 import PRIOR_NAMES, PRIORS, REGIONS, Drawn, Experiment
from figure4_map import Maps, areas, region_share

from brittle.measures.weak_points.diagnosis import TRUSTED


def page(experiment: Experiment, maps: dict[str, Maps]) -> str:
    said, people = experiment.said, len(experiment.faces.people)
    bounded = said["likeliest"] > said["scale"]
    return "\n".join(
        [
            "# Fawzi & Frossard 2016, figure 4, in kind",
            "",
            "ArcFace features (MobileFaceNet `w600k_mbf`, 112×112), 40 identities of the ORL faces enrolled with five "
            f"photographs each, the other {said['held_out']} held out: accuracy {said['accuracy']:.1%}.",
            f"p(identity | face) = softmax({said['scale']:.3g} · cosine), a temperature of {1 / said['scale']:.3g}"
            + (
                f": ArcFace's own, since the rule has no likeliest scale ({said['mistaken']} enrolled photographs are "
                "mistaken when held out)."
                if bounded
                else ", the likeliest on enrolled photographs held out in turn."
            ),
            f"{people} people, a photograph each, three rectangles filled with black. Command: "
            f"`python papers/fawzi2016/figure4.py {_options(said['options'])}`, {said['seconds']:.0f} s.",
            "",
            "## Robustness",
            "| prior | hides on average | ρ [95 %] | accuracy | draws of another label |",
            "| --- | --- | --- | --- | --- |",
            *(_robustness(prior, experiment.measured[prior], maps[prior]) for prior in PRIORS),
            "",
            "## How well the posterior was sampled",
            "Medians over people; R̂ and effective draws are the worst of twelve coordinates. `map` is the mean "
            "distance, in percentage points, between a person's map of hidden pixels and the default sampler's.",
            "",
            "| prior | sampler | calls | accepted | R̂ | effective | trusted | another label | hidden | map |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_sampling(which, drawn, maps[which[0]]) for which, drawn in experiment.drawn.items()),
            "",
            "## What weak points hide",
            "Share of draws that hide a pixel of each region, on average (default sampler), as a multiple of the "
            "prior's; and as a multiple of that of prior draws that hide as many pixels, ± two standard errors over "
            "people: above 1, weak points seek the region.",
            "",
            "| prior | region | prior | weak points | multiple | at equal area | at equal area, Metropolis |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(line for prior in PRIORS for line in _regions(prior, maps[prior])),
            "",
            "## Asked directly",
            f"Accuracy on the {said['held_out']} held-out photographs with exactly these regions hidden, 60×20 pixels "
            "each (9.6 % of the face):",
            "",
            "| hidden | accuracy |",
            "| --- | --- |",
            *(f"| {name} | {value:.1%} |" for name, value in said["hidden"].items()),
            "",
            "## What is seen",
            *(_seen(prior, experiment, maps[prior]) for prior in PRIORS),
            "- The paper saw small boxes on the nose change the label. Here hiding the nose leaves an accuracy of "
            f"{said['hidden']['nose']:.1%}, and no pair of regions less than {min(said['hidden'].values()):.1%}.",
            "- Forty people are few to be mistaken for, the photographs of a person were taken alike, and faces were "
            "aligned before they were occluded: a recogniser at work has a harder task.",
            "",
        ]
    )


def _seen(prior: str, experiment: Experiment, maps: Maps) -> str:
    sought = {
        name: float(region_share(maps.reference, name).mean() / region_share(maps.matched, name)) for name in REGIONS
    }
    first = max(sought, key=lambda name: sought[name])
    drawn = experiment.drawn[prior, "auto"]
    trusted = sum(row["status"] == TRUSTED for row in drawn.about)
    return (
        f"- {PRIOR_NAMES[prior]}: weak points hide {maps.reference.mean():.0%} of the face where the prior hides "
        f"{maps.prior.mean():.0%}. At equal area they seek the {first} most ({sought[first]:.2f} times); the draws of "
        f"{trusted} of {len(drawn.about)} people can be trusted, Metropolis's of "
        f"{sum(row['status'] == TRUSTED for row in experiment.drawn[prior, 'metropolis'].about)}."
    )


def _options(options: dict[str, str]) -> str:
    return " ".join(
        f"--{name} {options[name]}" for name in ("images", "steps", "chains", "budget", "samples", "device", "batch")
    )


def _robustness(prior: str, result: dict[str, Any], maps: Maps) -> str:
    low, high = result["interval"]
    draws = result["images"] * result["samples"]
    wrong = round((1 - result["accuracy_nuisance"]) * draws)
    return (
        f"| {PRIOR_NAMES[prior]} `{PRIORS[prior]}` | {maps.prior.mean():.0%} of the face | {result['rho']:.3f} "
        f"[{low:.3f}, {high:.3f}] | {result['accuracy_nuisance']:.3f} | {wrong:,} of {draws:,} |"
    )


def _sampling(which: tuple[str, str], drawn: Drawn, maps: Maps) -> str:
    def middle(name: str, form: str) -> str:
        known = [row[name] for row in drawn.about if row[name] is not None]
        return format(statistics.median(known), form) if known else "–"

    trusted = sum(row["status"] == TRUSTED for row in drawn.about)
    of = maps.metropolis if which[1] == "metropolis" else maps.reference
    distance = "–" if of is maps.reference else f"{100 * np.abs(of - maps.reference).mean():.1f}"
    hidden = float(areas(torch.from_numpy(drawn.theta).flatten(0, 1)).median()) / SIDE**2
    return (
        f"| {PRIOR_NAMES[which[0]]} | {which[1]} | {middle('calls', ',.0f')} | {middle('acceptance', '.2f')} "
        f"| {middle('rhat', '.2f')} | {middle('effective', '.0f')} | {trusted} of {len(drawn.about)} "
        f"| {middle('another_label', '.2f')} | {hidden:.0%} | {distance} |"
    )


def _regions(prior: str, maps: Maps) -> list[str]:
    lines = []
    for region in (*REGIONS, None):
        before, matched, matched_walk = (
            float(region_share(values, region)) for values in (maps.prior, maps.matched, maps.matched_metropolis)
        )
        after, walked = region_share(maps.reference, region), region_share(maps.metropolis, region)
        error = 2 * after.std(ddof=1) / np.sqrt(len(after)) / matched if len(after) > 1 else float("nan")
        lines.append(
            f"| {PRIOR_NAMES[prior]} | {region or 'whole face'} | {before:.1%} | {after.mean():.1%} "
            f"| {after.mean() / before:.2f} | {after.mean() / matched:.2f} ± {error:.2f} "
            f"| {walked.mean() / matched_walk:.2f} |"
        )
    return lines
