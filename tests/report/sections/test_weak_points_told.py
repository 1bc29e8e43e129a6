"""Weak points are shown in the numbers people think in, and those that really fail with a map of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from brittle.nuisances import nuisances
from brittle.report.page.section import MeasureRun
from brittle.report.sections.weak_points import evidence as evidence_module
from brittle.report.sections.weak_points.evidence import evidence

WriteRun = Callable[..., Path]
MeasureRunOf = Callable[[Path, str], MeasureRun]
HEIGHT, WIDTH = 8, 10
TOLD = (
    "rotation (degrees clockwise)",
    "zoom x (factor)",
    "zoom y (factor)",
    "shear (degrees)",
    "shift right (pixels)",
    "shift down (pixels)",
)


def moved_content(theta: list[float]) -> list[float]:
    """θ of an affine map → rotation, zooms, shear and shifts of the content, by inverting the map in pixels and
    taking its QR factors."""
    half = np.diag([WIDTH / 2, HEIGHT / 2, 1.0])
    source = np.vstack((np.array(theta, float).reshape(3, 2).T, [0, 0, 1]))
    content = np.linalg.inv(half @ source @ np.linalg.inv(half))
    turn, upper = np.linalg.qr(content[:2, :2])
    signs = np.array([np.sign(upper[0, 0]), np.sign(upper[0, 0]) * np.linalg.det(turn)])
    turn, upper = turn * signs, (upper.T * signs).T
    shear = math.degrees(math.atan(upper[0, 1] / upper[1, 1]))
    return [
        math.degrees(math.atan2(turn[1, 0], turn[0, 0])), upper[0, 0], upper[1, 1], shear, content[0, 2], content[1, 2]
    ]  # fmt: skip


def stored(run: MeasureRun, entry: Any, ids: list[int]) -> list[list[float]]:
    assert run.view is not None
    cell = run.view.cell(entry["classifier"], entry["image_set"], entry["nuisance"])
    rows = pa.concat_tables(list(run.view.rows(cell))).to_pylist()
    return [row["theta"] for id in ids for row in rows if row["image"] == id]


def test_affine_marginals_and_traces_are_told_as_rotation_zoom_shear_and_shift(
    tmp_path: Path, write_run: WriteRun, measure_run: MeasureRunOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    panels: list[Any] = []
    traces: list[Any] = []
    monkeypatch.setattr(evidence_module, "marginal_figure", lambda found, images: panels.append(found))
    monkeypatch.setattr(evidence_module, "trace_figure", lambda found: traces.append(found))
    only = {"plain": f"python:{tmp_path}/tiny.py:second"}
    chains = {"sampler": "metropolis", "steps": 60, "burn-in": 30, "chains": 4, "tries": 8}
    asked = {"drawn": {"kind": "weak-points", "budget": 400, "count": 5}}
    asked["walked"] = {"kind": "weak-points", "count": 2, **chains}
    folder = write_run(tmp_path, robustness=None, nuisances=["affine:alpha=20"], classifiers=only, measures=asked)
    run = measure_run(folder, "drawn")
    entry = run.summary["entries"][0]
    evidence(run, entry, 1)
    ids = [row["id"] for row in entry["per_image"] if row["status"] == "trusted" and not row["already_wrong"]]
    expected = np.array([moved_content(theta) for theta in stored(run, entry, ids)])
    assert len(expected)
    assert {panel.name for panel in panels[0]} == set(TOLD)
    for panel in panels[0]:
        np.testing.assert_allclose(panel.posterior, expected[:, TOLD.index(panel.name)], rtol=1e-4, atol=1e-4)
        assert abs(np.median(panel.prior) - (panel.name.startswith("zoom"))) < 0.5 * panel.prior.std()
    walked = measure_run(folder, "walked")
    evidence(walked, walked.summary["entries"][0], 1)
    assert set(traces[0][0].columns) <= set(TOLD)
    assert len(traces[0][0].columns) == 3


def test_weak_points_that_really_fail_have_a_map_of_the_prior_where_the_prediction_is_another_label(
    tmp_path: Path, write_run: WriteRun, measure_run: MeasureRunOf, page_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps: list[Any] = []
    monkeypatch.setattr(evidence_module, "posterior_figure", lambda found, names: maps.append(found))
    space = "translation:sigma=0.2"
    asked, only = {"budget": 400, "failing": True, "count": 5}, {"plain": f"python:{tmp_path}/tiny.py:second"}
    folder = write_run(tmp_path, robustness=None, nuisances=[space], classifiers=only, **{"weak-points": asked})
    run = measure_run(folder, "weak-points")
    (entry,) = run.summary["entries"]
    evidence(run, entry, 1)
    images, classifier = run.whole.job.images["shapes"].images, run.whole.job.classifiers[entry["classifier"]]
    for shown in maps[0]:
        place = list(images.names).index(shown.title.split(":")[0])
        batch, label = images.batch([place]), int(images.labels[place])
        across, down = np.meshgrid(shown.first, shown.second)
        theta = torch.tensor(np.stack((across.ravel(), down.ravel()), 1), dtype=torch.float32)
        same = batch.take(torch.zeros(len(theta), dtype=torch.int64))
        wrong = classifier.log_probs(nuisances.build(space).apply(same, theta)).argmax(1).numpy() != label
        prior = np.exp(-0.5 * (theta.numpy().astype(float) ** 2).sum(1) / 0.2**2) * wrong
        np.testing.assert_allclose(shown.density.ravel(), prior / prior.max(), rtol=1e-4, atol=1e-9)
        assert 0 < wrong.mean() < 1
    monkeypatch.undo()
    text = page_of(folder).text
    assert "where the prediction is another label, 0 elsewhere" in text
    assert "p(not ℓ | θ, x) p(θ | x)" not in text
    for row in entry["per_image"]:
        assert f"{row['wrong_share']:.4f}" in text
