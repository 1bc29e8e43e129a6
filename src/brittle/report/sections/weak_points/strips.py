"""Weak points as pictures (Fawzi & Frossard 2016, figures 2 to 4): an image, and what the classifier takes it for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import torch

from brittle.engine.replay import Replay
from brittle.errors import BrittleError
from brittle.measures.weak_points.diagnosis import NOTHING, TRUSTED
from brittle.report.blocks import Pictures
from brittle.report.blocks.pictures import Answer, At, Card, Original, Strip
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.section import Row
from brittle.report.renderers.picture_file import write_strips
from brittle.report.renderers.resolve import pixels_of, place_of
from brittle.report.sections.weak_points.draws import ImageDraws, random_mistakes, read_draws, shown_images

DRAWS = 8
PRIOR_DRAWS, PRIOR_NUMBERS = 512, 1 << 22
NEARLY_ALL = 0.995


def badge(row: Row) -> str:
    """What is wrong with an image's draws; "" where they can be trusted."""
    return "" if row["status"] == TRUSTED else str(row["status"])


def strips(run: LoadedRun, entry: Row, rows: Sequence[Row], draws: Mapping[int, ImageDraws]) -> tuple[Strip, ...]:
    """A strip for each of the images in `rows`: draws of another label, or why there are none."""
    return tuple(_strip(run, entry, row, draws.get(row["id"])) for row in rows)


def _strip(run: LoadedRun, entry: Row, row: Row, draws: ImageDraws | None) -> Strip:
    if draws is None or row["status"] == NOTHING:
        nothing = "No weak point was found: the classifier never doubts the label where it was looked."
        return Strip((_original(entry, row),), nothing, badge(row))
    chosen = random_mistakes(draws, row["id"], run.job.seed, DRAWS)
    doubts = f"None of the {len(draws.theta)} kept draws changes the label: the classifier only doubts it there."
    names, cards = run.label_names(entry["classifier"], entry["image_set"]), []
    for place in chosen:
        predicted = int(draws.predicted[place])
        answer = Answer(
            entry["classifier"], names(predicted), float(draws.probability[place]), False, predicted
        )  # fmt: skip
        cards.append(_taken(entry, row, draws.theta[place].tolist(), answer.label, "transformed", (answer,)))
    return Strip((_original(entry, row), *cards), "" if chosen else doubts, badge(row))


def least(run: LoadedRun, entry: Row, most: int) -> tuple[Strip, ...]:
    """Of the images that change their label most easily, the most probable θ found that does it."""
    known = [row for row in entry["per_image"] if row["smallest"] is not None and not row["already_wrong"]]
    return tuple(_least(run, entry, row) for row in sorted(known, key=lambda row: -row["smallest_log_prior"])[:most])


def _least(run: LoadedRun, entry: Row, row: Row) -> Strip:
    taken = _taken(entry, row, row["smallest"], row["smallest_label"], "least transformed")
    share = likelier(run.replay(entry["image_set"], entry["nuisance"], entry["classifier"]), row)
    text = row["name"]
    if share is not None:
        text += f": more probable than {'nearly all' if share >= NEARLY_ALL else f'{100 * share:.0f} %'} of the prior’s"
        text += " draws"
    return Strip((replace(_original(entry, row), beneath=""), taken), text, badge(row))


def _original(entry: Row, row: Row) -> Card:
    alt = f"{row['name']}, {row['label']}: original"
    return Card(Original(entry["image_set"], row["id"]), row["label"], alt, beneath=row["name"])


def _taken(
    entry: Row, row: Row, theta: Sequence[float], label: str, how: str, answers: tuple[Answer, ...] = ()
) -> Card:
    """A transformed image, and what the classifier takes it for."""
    source = At(entry["image_set"], row["id"], entry["nuisance"], tuple(theta), classifier=entry["classifier"])
    return Card(source, label, f"{row['name']}, {row['label']}, {how}: taken for {label}", answers, role="wrong")


@torch.inference_mode()
def likelier(replay: Replay, row: Row) -> float | None:
    """The share of the prior's own draws that are less probable than the smallest θ found; None where the prior has no
    density."""
    count = max(1, min(PRIOR_DRAWS, PRIOR_NUMBERS // len(row["smallest"])))
    batch = replay.batch([place_of(replay.images.ids, row["id"])])
    density = replay.nuisance.log_prior(replay.prior(batch, count).double(), batch)
    return None if density is None else float((density < row["smallest_log_prior"]).double().mean())


def write_weak_points(path: Path, run: LoadedRun, entry: Row, rows: pa.Table, images: int | Sequence[int]) -> None:
    """Writes a picture of one entry of the summary: `rows` hold its draws, and `images` says how many images are shown,
    or which by their ids."""
    per_image = entry["per_image"]
    if isinstance(images, int):
        chosen = shown_images(per_image, images)
    else:
        by_id = {row["id"]: row for row in per_image}
        chosen = [by_id[id] for id in images]
    if not chosen:
        raise BrittleError("there is no image to show: all are wrong untouched", "Name some by their ids.")
    shown = strips(run, entry, chosen, read_draws([rows], [row["id"] for row in chosen]))
    write_strips(path, shown, f"Weak points under {entry['nuisance']}", pixels_of(run, [Pictures(shown)]))
