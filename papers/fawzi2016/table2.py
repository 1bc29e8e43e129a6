"""Fawzi & Frossard 2016, Table 2 in kind: piecewise affine robustness of EfficientNet-Lite 0, 1 and 2 on photographs.

    PYTHONPATH=build/efficientnet python papers/fawzi2016/table2.py [--images 1000 --device cuda]

Classifies the untouched photographs; measures ρ̂ at three amplitudes of the prior, on the same images and draws for all
networks; then draws weak points of some images and asks where they lead. Writes table2.md (keeping what is written by
hand under its last heading), table2-untouched.parquet, table2.parquet, table2-flows.parquet, table2-environment.json,
and figure3.parquet, from which figure3.py makes pictures, into --out. On a CPU, try --images 40 --samples 5 --weak 5
--budget 200, or --only-untouched: ten minutes on two cores for the confidences before any nuisance.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import efficientnet
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

import brittle
from brittle.engine.store.run_folder import environment
from brittle.progress import ProgressBar

HERE = Path(__file__).parent
SIDE = 256  # of the squares that are warped; each network resizes and cuts them as it was trained to
PAPER = "VGG-CNN-S 0.62, VGG-16 0.68, VGG-19 0.68, GoogLeNet 0.67"
SHOWN_THERE = ("goldfinch", "gyromitra", "kite", "white wolf", "lampshade")  # the labels of the paper's figure 3
TWICE = {"n02012849": "crane (bird)", "n03126707": "crane (machine)", "n03710721": "maillot (tank suit)"}
ANIMALS = 398  # the classes before this number are animals, the others things, food, plants and places
NEIGHBOURS, FAR = 5, 50  # places among the labels of the untouched photograph
DRAWS = 4  # of an image and network that are kept for pictures
BY_HAND = "## What the flows look like"

KEPT = ("label", "already_wrong", "status", "method", "effective", "one_minus_mu", "another_label", "leads_to")


def photographs(folder: Path) -> brittle.ImageSet:
    """Squares from the middle of the photographs, one a class; the id of an image is the number of its class."""
    files = sorted(folder.glob("n*.jpg"))
    if len(files) != 1000:
        raise brittle.BrittleError(f"{folder} holds {len(files)} photographs", "Give one of each ImageNet class.")
    names = [TWICE.get(file.stem[:9], file.stem[10:].replace("_", " ")) for file in files]
    squares = np.stack([square(Image.open(file).convert("RGB")) for file in files])
    return brittle.image_set((squares, np.arange(len(files))), name="photographs", classes=names)


def square(image: Image.Image) -> np.ndarray[Any, Any]:
    width, height = image.size
    scale = SIDE / min(width, height)
    if scale != 1:
        width, height = round(width * scale), round(height * scale)
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = (width - SIDE) // 2, (height - SIDE) // 2
    return np.asarray(image.crop((left, top, left + SIDE, top + SIDE)))


def prior(amplitude: float) -> str:
    return f"piecewise-affine:amplitude={amplitude:g},unit=pixels"


def untouched(
    networks: Mapping[str, brittle.Classifier], images: brittle.ImageSet, device: str
) -> list[dict[str, Any]]:
    """A row for every network and photograph: what it says before any nuisance."""
    rows = []
    for name, network in networks.items():
        answers = clean_answers(network, images, range(len(images)), device)
        here = [
            {"network": name, "image": image, "predicted": int(each.argmax()), "p_label": float(each[image])}
            for image, each in answers.items()
        ]
        confidence, accuracy = confidence_clean(here, name), np.mean([row["predicted"] == row["image"] for row in here])
        print(f"{name}, untouched: p(label) {confidence:.3f} on average, accuracy {accuracy:.3f}", flush=True)
        rows += here
    return rows


def confidence_clean(rows: Sequence[Mapping[str, Any]], network: str) -> float:
    """Mean p(label) of all untouched photographs."""
    return float(np.mean([row["p_label"] for row in rows if row["network"] == network]))


def measure(
    networks: Mapping[str, brittle.Classifier],
    images: brittle.ImageSet,
    clean: Sequence[Mapping[str, Any]],
    options: argparse.Namespace,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for every amplitude and network, and one for every amplitude and pair of networks."""
    rows, pairs = [], []
    for amplitude in options.amplitudes:
        with ProgressBar() as progress:
            found = brittle.compare(
                networks,
                images,
                prior(amplitude),
                count=options.images,
                samples=options.samples,
                extra=("ece", "top5"),
                device=options.device,
                batch=options.batch,
                progress=progress,
            )
        for result in found["results"]:
            kept = ("rho", "accuracy_nuisance", "accuracy_clean", "accuracy_worst", "flip_rate")
            row = {"network": result["classifier"], "amplitude": float(amplitude), "prior": result["prior"]}
            row |= {"low": result["interval"][0], "high": result["interval"][1]}
            for name in kept:
                row[name] = result[name]
            row["confidence_clean"] = confidence_clean(clean, result["classifier"])
            row["accuracy_low"], row["accuracy_high"] = result["accuracy_nuisance_interval"]
            row |= {name: result[name] for name in ("top5", "ece", "worst_of", "images", "samples", "seed")}
            rows.append(row)
            print(f"{row['network']}, {amplitude:g} pixels: ρ̂ {row['rho']:.3f}", file=sys.stderr, flush=True)
        pairs += [{"amplitude": float(amplitude)} | each for each in found["comparisons"]]
    return rows, pairs


class Weak(NamedTuple):
    """What the weak points of every network say."""

    images: list[dict[str, Any]]  # a row for every network and image
    flows: list[dict[str, Any]]  # a row for every network, image and label that its weak points lead to
    draws: list[dict[str, Any]]  # some transformations of another label


def weak_points(
    networks: Mapping[str, brittle.Classifier], images: brittle.ImageSet, options: argparse.Namespace
) -> Weak:
    """Weak points of the images that the paper's figure shows the labels of, and of others drawn at random."""
    wanted = [images.classes.index(name) for name in SHOWN_THERE]
    others = np.random.default_rng(0).permutation(len(images)).tolist()
    ids = list(dict.fromkeys([*wanted, *others]))[: options.weak]
    told = Weak([], [], [])
    for amplitude, (name, network) in itertools.product(options.weak_amplitudes, networks.items()):
        with ProgressBar() as progress:
            found = brittle.sample(
                network,
                images,
                prior(amplitude),
                ids=ids,
                budget=options.budget,
                device=options.device,
                batch=options.batch,
                progress=progress,
            )
        answers = clean_answers(network, images, ids, options.device)
        which = {"network": name, "amplitude": float(amplitude)}
        for row in found["per_image"]:
            told.images.append(which | {"image": row["id"]} | {key: row[key] for key in KEPT})
        told.flows.extend(which | each for each in flows(found["flows"], answers))
        told.draws.extend(which | each for each in mistakes(found, images.classes))
        print(f"{name}, {amplitude:g} pixels: weak points of {len(ids)} images", file=sys.stderr, flush=True)
    return told


def clean_answers(
    network: brittle.Classifier, images: brittle.ImageSet, ids: Sequence[int], device: str
) -> dict[int, torch.Tensor]:
    """Image → probabilities (1000,) of the untouched photograph."""
    parts = [ids[start : start + 16] for start in range(0, len(ids), 16)]
    with torch.inference_mode():
        found = [network.log_probs(images.batch(part).images.to(device)).exp().cpu() for part in parts]
    return dict(zip(ids, torch.cat(found), strict=True))


def flows(found: Sequence[Mapping[str, Any]], answers: Mapping[int, torch.Tensor]) -> Iterator[dict[str, Any]]:
    """Where each image leads. There is one photograph a class: what comes from a label comes from one image."""
    whole = {start: sum(flow["share"] for flow in found if flow["from"] == start) for start in answers}
    for flow in found:
        start, end = flow["from"], flow["to"]
        clean = answers[start]
        yield {
            "from": flow["from_label"],
            "to": flow["to_label"],
            "share": flow["share"] / whole[start],
            "clean_place": int((clean > clean[end]).sum()) + 1,  # 1 is the right label's
            "clean_probability": float(clean[end]),
            "crosses": (start < ANIMALS) != (end < ANIMALS),
        }


def mistakes(found: Any, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Some different draws of another label of every image. Kept draws are in random order."""
    right = {row["id"] for row in found["per_image"] if not row["already_wrong"]}
    columns = ("image", "predicted", "log_p_predicted", "rank", "found", "theta")
    seen: dict[int, set[tuple[float, ...]]] = {}
    for row in found.rows.select(columns).to_pylist():
        here, theta = seen.setdefault(row["image"], set()), tuple(row["theta"])
        wanted = row["found"] and row["rank"] > 0 and row["image"] in right
        if wanted and len(here) < DRAWS and theta not in here:
            here.add(theta)
            yield {
                "image": row["image"],
                "label": classes[row["image"]],
                "predicted": classes[row["predicted"]],
                "probability": float(np.exp(row["log_p_predicted"])),
                "theta": np.asarray(theta, np.float32),
            }


def page(
    rows: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    told: Weak,
    options: argparse.Namespace,
    by_hand: str,
) -> str:
    """The tables as Markdown, then what was written by hand."""
    first = rows[0]
    return "\n".join(
        [
            "# Fawzi & Frossard 2016, Table 2 and figure 3 in kind",
            "",
            f"EfficientNet-Lite 0, 1 and 2 with their ImageNet weights on {first['images']} photographs of different "
            f"classes, N = {first['samples']} draws each, the same for all networks. Paper, for networks that can't "
            f"be had here and a prior whose amplitude it does not give: {PAPER}.",
            "",
            "The prior is `piecewise-affine` with 7×7 control points on the middle 256×256 pixels of a photograph, "
            "whose motions correlate by 0.61 at 64 pixels; the amplitude is their standard deviation across and down, "
            "in pixels. Each network then resizes and cuts the warped square as for its training (Lite 0 sees the "
            "middle 224 pixels). Intervals are 95 %, for the population of photographs.",
            "",
            "| amplitude | network | ρ̂ [interval] | accuracy [interval] | clean accuracy | "
            f"right in {first['worst_of']} of {first['worst_of']} | label flips | top 5 | calibration error |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(
                f"| {row['amplitude']:g} | {row['network']} | {row['rho']:.3f} [{row['low']:.3f}, {row['high']:.3f}] "
                f"| {row['accuracy_nuisance']:.3f} [{row['accuracy_low']:.3f}, {row['accuracy_high']:.3f}] "
                f"| {row['accuracy_clean']:.3f} | {row['accuracy_worst']:.3f} | {row['flip_rate']:.3f} "
                f"| {row['top5']:.3f} | {row['ece']:.3f} |"
                for row in rows
            ),
            "",
            "Paired differences, on the same images and draws; intervals hold for the three pairs at once:",
            "",
            "| amplitude | networks | ρ̂ [interval] | accuracy [interval] |",
            "| --- | --- | --- | --- |",
            *(paired(each) for each in pairs),
            "",
            *(weak_section(told, options) if told.images else []),
            by_hand,
        ]
    )


def paired(each: Mapping[str, Any]) -> str:
    low, high = each["rho_interval"]
    accuracy_low, accuracy_high = each["accuracy_nuisance_interval"]
    return (
        f"| {each['amplitude']:g} | {each['first']} − {each['second']} "
        f"| {each['rho_difference']:+.3f} [{low:+.3f}, {high:+.3f}] "
        f"| {each['accuracy_nuisance_difference']:+.3f} [{accuracy_low:+.3f}, {accuracy_high:+.3f}] |"
    )


def weak_section(told: Weak, options: argparse.Namespace) -> list[str]:
    """How far weak points lead, then every image at the largest amplitude."""
    networks = list(dict.fromkeys(row["network"] for row in told.images))
    lines = [
        "## Weak points",
        "",
        f"Draws from p(θ | not ℓ, x) for {options.weak} photographs, {options.budget} classifier calls each. An image "
        "counts once, whatever its draws; images that are wrong untouched are left out. *Neighbour*: a label among "
        f"the {NEIGHBOURS} first that the network names for the untouched photograph. *Far*: not among its first "
        f"{FAR}. *Crosses*: from an animal to something that is none, or back.",
        "",
        "| amplitude | network | images right untouched | draws that can be trusted | some of another label "
        "| lead to a neighbour | far | crosses |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for amplitude, name in itertools.product(options.weak_amplitudes, networks):
        of = [row for row in at(told.images, amplitude, name) if not row["already_wrong"]]
        here = at(told.flows, amplitude, name)
        led = len({flow["from"] for flow in here})
        trusted = sum(row["status"] == "trusted" for row in of)
        near = sum(flow["share"] for flow in here if flow["clean_place"] <= NEIGHBOURS)
        far = sum(flow["share"] for flow in here if flow["clean_place"] > FAR)
        crosses = sum(flow["share"] for flow in here if flow["crosses"])
        shares = " | ".join(f"{share / max(1, led):.0%}" for share in (near, far, crosses))
        lines.append(f"| {amplitude:g} | {name} | {len(of)} | {trusted} | {led} | {shares} |")
    largest = max(options.weak_amplitudes)
    lines += [
        "",
        f"Where each image's weak points lead at {largest:g} pixels: the three strongest labels, with their share of "
        "its draws of another label; in parentheses 1 − µ, the mean probability of another label under the prior:",
        "",
        f"| label | {' | '.join(networks)} |",
        f"| --- | {' | '.join('---' for _ in networks)} |",
    ]
    for label in sorted({row["label"] for row in told.images}, key=lambda label: (label not in SHOWN_THERE, label)):
        cells = [strongest(told, largest, name, label) for name in networks]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return [*lines, ""]


def at(rows: Sequence[dict[str, Any]], amplitude: float, network: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["amplitude"] == amplitude and row["network"] == network]


def strongest(told: Weak, amplitude: float, network: str, label: str) -> str:
    row = next(row for row in at(told.images, amplitude, network) if row["label"] == label)
    if row["already_wrong"]:
        return "wrong untouched"
    here = [flow for flow in at(told.flows, amplitude, network) if flow["from"] == label]
    led = sorted(here, key=lambda flow: -flow["share"])[:3]
    named = ", ".join(f"{flow['to']} {flow['share']:.0%}" for flow in led) or "no other label"
    return named if row["one_minus_mu"] is None else f"{named} ({row['one_minus_mu']:.2g})"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/imagenet-sample"), help="the photographs")
    parser.add_argument("--models", nargs="+", choices=list(efficientnet.SIDES), default=list(efficientnet.SIDES))
    parser.add_argument("--amplitudes", nargs="+", type=float, default=[4, 8, 16], help="of the prior, in pixels")
    parser.add_argument("--images", type=int, default=200, help="M, drawn from the photographs")
    parser.add_argument("--samples", type=int, default=100, help="N, draws of θ an image")
    parser.add_argument("--only-untouched", action="store_true", help="classify the photographs and stop there")
    parser.add_argument("--weak", type=int, default=60, help="images whose weak points are drawn")
    parser.add_argument("--weak-amplitudes", nargs="+", type=float, default=[8, 16], help="of its prior, in pixels")
    parser.add_argument("--budget", type=int, default=2000, help="classifier calls an image for weak points")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, help="images classified at once")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for what is found")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    images = photographs(options.data)
    networks = {name: efficientnet.classifier(name, images.classes, options.device) for name in options.models}
    begun = time.monotonic()
    clean = untouched(networks, images, options.device)
    pq.write_table(pa.Table.from_pylist(clean), options.out / "table2-untouched.parquet")
    if options.only_untouched:
        return
    rows, pairs = measure(networks, images, clean, options)
    pq.write_table(pa.Table.from_pylist(rows), options.out / "table2.parquet")
    between = time.monotonic()
    told = weak_points(networks, images, options) if options.weak else Weak([], [], [])
    seconds = {"measuring": round(between - begun, 1), "weak points": round(time.monotonic() - between, 1)}
    if told.images:
        pq.write_table(pa.Table.from_pylist(told.flows), options.out / "table2-flows.parquet")
        pq.write_table(pa.Table.from_pylist(told.draws), options.out / "figure3.parquet")
    file = options.out / "table2.md"
    _, heading, before = file.read_text(encoding="utf-8").partition(BY_HAND) if file.exists() else ("", "", "")
    text = page(rows, pairs, told, options, heading + before)
    file.write_text(text, encoding="utf-8")
    said = environment() | {"options": {key: str(value) for key, value in vars(options).items()}, "seconds": seconds}
    (options.out / "table2-environment.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
