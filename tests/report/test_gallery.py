"""The gallery shows what the classifiers saw and what they said, and selects only where it says so."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from brittle.engine.job import CLEAN
from brittle.engine.store import Cell
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.report.colours import looks
from brittle.report.figures import class_figure, shown_classes
from brittle.report.gallery import Check, Gallery, galleries
from brittle.report.html import write_report
from brittle.report.loaded import Run, load
from brittle.report.options import curves


@pytest.fixture(scope="module")
def run(run_folder: Path) -> Run:
    return load(run_folder)


@pytest.fixture(scope="module")
def painted(run: Run) -> tuple[list[Gallery], Check]:
    return galleries(run)


def _pixels(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,")))))


def _rows(run: Run, classifier: str, nuisance: str) -> pa.Table:
    return pa.concat_tables(
        [
            rows
            for _, rows in run.folder.store.read(
                Cell(CLEAN if nuisance == CLEAN else "robustness", classifier, "shapes", nuisance)
            )
        ]
    )


def test_pictures_are_the_first_draws_of_the_prior(run: Run, painted: tuple[list[Gallery], Check]) -> None:
    images = run.images["shapes"].images
    space = nuisances.build("affine:alpha=10")
    gallery = next(each for each in painted[0] if each.nuisance == "affine:alpha=10")
    for strip in gallery.strips:
        batch = images.batch([list(images.names).index(strip.name)])
        assert np.array_equal(_pixels(strip.original.uri), np.rint(255 * batch.images[0, 0].numpy()))
        theta = space.sample(batch, draw_keys(0, "affine", batch.ids, torch.arange(6)))[0]
        for draw, picture in enumerate(strip.draws):
            assert picture.caption == f"draw {draw}"
            expected = 255 * space.apply(batch, theta[draw : draw + 1])[0, 0].numpy()
            assert np.abs(_pixels(picture.uri) - expected).max() <= 0.51


def test_answers_beneath_the_pictures_are_the_stored_ones(run: Run, painted: tuple[list[Gallery], Check]) -> None:
    images = run.images["shapes"].images
    for gallery in painted[0]:
        for strip in gallery.strips:
            identity = int(images.ids[list(images.names).index(strip.name)])
            for said_at, nuisance, draw in [(strip.original, CLEAN, -1)] + [
                (picture, gallery.nuisance, draw) for draw, picture in enumerate(strip.draws)
            ]:
                assert len(said_at.said) == 2
                for said in said_at.said:
                    rows = _rows(run, said.classifier, nuisance).to_pylist()
                    row = next(each for each in rows if each["image"] == identity and each["draw"] == draw)
                    assert said.label == images.classes[row["predicted"]]
                    assert said.probability == pytest.approx(np.exp(row["log_p_predicted"]))
                    assert said.right == (said.label == strip.label)


def test_classifiers_asked_again_confirm_the_pictures(painted: tuple[list[Gallery], Check]) -> None:
    check = painted[1]
    assert check.pictures == 3 * 2 * 36
    assert check.differing == 0
    assert check.largest < 1e-5


def test_shown_images_are_of_different_classes_and_the_same_under_every_nuisance(
    painted: tuple[list[Gallery], Check],
) -> None:
    names = {tuple(strip.name for strip in gallery.strips) for gallery in painted[0]}
    assert len(names) == 1
    assert len({strip.label for strip in painted[0][0].strips[:3]}) == 3


def test_confident_mistakes_are_the_most_confident_ones(run: Run, painted: tuple[list[Gallery], Check]) -> None:
    for gallery in painted[0]:
        for name, strips in gallery.mistakes.items():
            clean = {row["image"]: row["rank"] == 0 for row in _rows(run, name, CLEAN).to_pylist()}
            wrong = [
                np.exp(row["log_p_predicted"])
                for row in _rows(run, name, gallery.nuisance).to_pylist()
                if row["rank"] > 0 and clean[row["image"]]
            ]
            shown = [next(said for said in strip.draws[0].said if said.classifier == name) for strip in strips]
            assert shown
            assert not any(said.right for said in shown)
            assert shown[0].probability == pytest.approx(max(wrong))
            assert [said.probability for said in shown] == sorted((s.probability for s in shown), reverse=True)
            assert len({strip.name for strip in strips}) == len(strips)


def test_report_says_which_pictures_are_selected(run_folder: Path) -> None:
    text = write_report(run_folder).read_text(encoding="utf-8")
    assert "First draws, not selected" in text
    assert "Confident mistakes of plain, selected" in text


def test_curves_need_two_values_of_one_numeric_option() -> None:
    def made(*specs: str) -> list[tuple[str, str, list[float]]]:
        found = curves({spec: nuisances.build(spec) for spec in specs})
        return [(curve.kind, curve.option, list(curve.points)) for curve in found]

    assert made("affine:alpha=50") == []
    assert made("affine:alpha=50", "rotation:sigma=50") == []
    assert made("affine:alpha=50", "affine:alpha=10,kappa=2") == []
    assert made("affine:alpha=50,fill=edge", "affine:alpha=10") == []
    assert made("affine:alpha=50", "rotation", "affine:alpha=10") == [("affine", "alpha", [10.0, 50.0])]
    grid = made(*(f"affine:alpha={a},kappa={k}" for a in (10, 50) for k in (1, 2)))
    assert sorted(option for _, option, _ in grid) == ["alpha", "alpha", "kappa", "kappa"]


def test_a_thousand_classes_show_their_two_ends() -> None:
    def each(label: int, rho: float) -> dict[str, object]:
        bounds = [rho, rho]
        return {"label": label, "class": "crane", "rho": rho, "interval": bounds, "interval_simultaneous": bounds}

    rows = [{"classifier": "c", "classes": [each(label, (label * 7 % 1000) / 1000) for label in range(1000)]}]
    shown = [None if pair is None else pair[0] * 7 % 1000 for pair in shown_classes(rows)]
    assert shown == [*range(15), None, *range(985, 1000)]
    figure = class_figure("k", "affine", rows, looks(["c"]))
    assert figure.count("crane") >= 30
