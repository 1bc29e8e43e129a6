"""Fawzi & Frossard 2016, figure 1: the posterior over 2-D translations of a digit, with samples on it.

    python papers/fawzi2016/figure1.py [--weights FILE] [--ids 0 2 4]

A row per digit: the digit, the posterior on a grid with a Metropolis chain as in the paper (algorithm 1, no burn-in),
and the same posterior with draws of Brittle's default sampler for as many classifier calls. The weights are those that
table1.py trains: a plain CNN-1. Beside the picture lie figure1.parquet (the draws) and figure1-map.parquet (the
posterior on the grid).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from table1 import idx

import brittle
from brittle.engine.replay import Replay
from brittle.report.renderers.canvas import STYLE
from brittle.report.renderers.figures import ROLES, SCALES
from brittle.report.sections.weak_points.maps import grid_around, posterior_on_grid

HERE = Path(__file__).parent
CELLS = 121


def density(classifier: Any, replay: Replay, place: int, sigma: float) -> tuple[np.ndarray, float]:
    """The posterior over its maximum (m, m), and log of its mean over the prior: log(1 − µ(x))."""
    places = grid_around(0.0, sigma, CELLS)
    log = posterior_on_grid(classifier, replay, place, int(replay.images.labels[place]), places, places, 512)
    assert log is not None
    cell = 2 * torch.log(places[1] - places[0])
    return (log - log.max()).exp().numpy(), float(log.logsumexp((0, 1)) + cell)


def draw_map(axes: Axes, values: np.ndarray, reach: float, theta: np.ndarray, title: str) -> Any:
    mesh = axes.imshow(
        values,
        cmap=SCALES["rising"],
        vmin=0,
        vmax=1,
        origin="lower",
        extent=(-reach, reach, -reach, reach),
        interpolation="none",
    )
    axes.plot(*theta.T, ".", color=ROLES["posterior"].colour, markersize=3.2, markeredgewidth=0, alpha=0.6)
    axes.plot(0, 0, "+", color="black", markersize=8, markeredgewidth=1.2)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="shift x (pixels left)", ylabel="shift y (pixels up)")
    axes.set_title(title, fontsize=9)
    return mesh


def map_table(id: int, values: np.ndarray, places: np.ndarray) -> pa.Table:
    """A row per cell of the grid, in the order in which it is drawn."""
    down, across = np.meshgrid(places, places, indexing="ij")
    columns = {"shift_x": across, "shift_y": down, "posterior_over_maximum": values}
    cells = {name: column.ravel().astype(np.float32) for name, column in columns.items()}
    return pa.table({"image": np.full(values.size, id), **cells})


def draw_table(id: int, sampler: str, theta: np.ndarray, about: Any, log_one_minus_mu: float) -> pa.Table:
    """A row per draw, with what is said of all draws of its image."""
    said = {"status": about["status"], "effective": about["effective"], "rhat": about["rhat"], "calls": about["calls"]}
    said |= {"one_minus_mu": about["one_minus_mu"], "one_minus_mu_by_quadrature": float(np.exp(log_one_minus_mu))}
    numbers = {name: pa.array([value] * len(theta), pa.string() if name == "status" else pa.float64())
               for name, value in said.items()}  # fmt: skip
    which = {"image": np.full(len(theta), id), "sampler": np.full(len(theta), sampler)}
    return pa.table({**which, "shift_x": theta[:, 0], "shift_y": theta[:, 1], **numbers})


def write(options: argparse.Namespace) -> None:
    classifier = brittle.classifier(f"torch:brittle.training.networks:{options.network},weights={options.weights}")
    images = brittle.image_set(options.test)
    spec = f"translation:sigma={options.sigma},unit=pixels"
    replay = Replay(images, brittle.nuisance(spec), "translation", 0)
    common: dict[str, Any] = {"ids": options.ids, "keep": options.steps, "device": "cpu"}
    chain = brittle.sample(
        classifier, images, spec, sampler=f"metropolis:algorithm=1,sigma={options.step}", chains=1, steps=options.steps,
        batch=1, **common,
    )  # fmt: skip
    default = brittle.sample(classifier, images, spec, budget=options.steps + 1, batch=250, **common)
    reach = 3 * options.sigma
    maps, draws = [], []
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure((9.6, 3.5 * len(options.ids)), layout="constrained")
        grid = figure.subplots(len(options.ids), 3, squeeze=False, width_ratios=(0.6, 1, 1))
        for row, id in zip(grid, options.ids, strict=True):
            place = int((images.ids == id).nonzero()[0])
            batch = images.batch([place])
            values, one_minus_mu = density(classifier, replay, place, options.sigma)
            maps.append(map_table(id, values, grid_around(0.0, options.sigma, CELLS).numpy()))
            row[0].imshow(batch.images[0, 0], cmap="gray", vmin=0, vmax=1)
            row[0].set_axis_off()
            row[0].set_title(
                f"test image {id}: {int(batch.labels[0])}\n1 − µ(x) = {np.exp(one_minus_mu):.2g}", fontsize=9
            )
            for axes, found, name in ((row[1], chain, "Metropolis"), (row[2], default, "Brittle's default sampler")):
                about = next(each for each in found["per_image"] if each["id"] == id)
                title = f"{name}\n{about['effective']:.0f} effective draws of {about['calls']:,} calls"
                mesh = draw_map(axes, values, reach, found.theta(id), title)
                draws.append(draw_table(id, name, found.theta(id), about, one_minus_mu))
                print(
                    f"image {id}, {name}: {about['status']}, effective {about['effective']:.1f}, "
                    f"R-hat {about['rhat']}, calls {about['calls']}, 1 − µ(x) {about['one_minus_mu']} "
                    f"(by quadrature {np.exp(one_minus_mu):.4g})"
                )
        bar = figure.colorbar(mesh, ax=grid[:, 2].tolist(), shrink=0.5, aspect=30, pad=0.02, ticks=[0, 0.5, 1])
        bar.set_label("posterior / its maximum", fontsize=9)
        figure.savefig(options.out, dpi=140)
    for parts, end in ((draws, ".parquet"), (maps, "-map.parquet")):
        to = options.out.with_name(options.out.stem + end)
        pq.write_table(pa.concat_tables(parts), to, compression="zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mnist"), help="folder with MNIST's idx files")
    parser.add_argument("--test", help="test images' spec, instead of those in --data")
    parser.add_argument("--network", default="cnn_1")
    parser.add_argument("--weights", type=Path, default=Path("build/fawzi2016/cnn-1-seed0.safetensors"))
    parser.add_argument("--ids", nargs="+", type=int, default=[0, 4], help="which test images")
    parser.add_argument("--sigma", type=float, default=3.0, help="of the prior, in pixels")
    parser.add_argument("--step", type=float, default=1.0, help="σ of the proposals, in pixels")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=HERE / "figure1.png")
    options = parser.parse_args()
    options.test = options.test or idx(options.data, "t10k")
    write(options)


if __name__ == "__main__":
    main()
