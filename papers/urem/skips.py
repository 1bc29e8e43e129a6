"""The grid with skip connections beside the plain one: what the connections change, and what depth does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from depths import by_depth, signed
from fashion import PLAIN, SKIP
from found import Key, Network, networks
from tables import difference, outcomes, student

from brittle.report.page.colours import MARKERS, OKABE_ITO

KINDS = {PLAIN: "plain", SKIP: "with skip connections"}
COMPARED = ("accuracy, points", "σ*, path", "σ*, fresh", "targeted")


def trained(found: Path) -> dict[Key, Network]:
    """Every network on all images, plain and with skip connections."""
    return networks(found, "grid") | networks(found, "skips")


def section(found: Path) -> str:
    nets = trained(found)
    told = outcomes(nets)
    kind, depth, budget = (np.asarray([key[place] for key in nets]) for place in (2, 0, 1))
    common = len(frozenset.intersection(*(net.right for net in nets.values())))
    lines = [
        "## With and without skip connections",
        "",
        f"{sum(kind == SKIP)} networks with skip connections and {sum(kind == PLAIN)} without, of the same layers and "
        f"parameters. Mean over seeds ± their standard deviation, over the {common} images that all of them get right; "
        "plain first.",
        "",
        f"| convolutions | parameters | seeds | {' | '.join(told)} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in told)} |",
    ]
    for d, b in sorted(set(zip(depth.tolist(), budget.tolist(), strict=True))):
        here = [(depth == d) & (budget == b) & (kind == each) for each in KINDS]
        seeds = ", ".join(str(which.sum()) for which in here)
        cells = ["; ".join(_cell(values[which]) for which in here) for values in told.values()]
        lines.append(f"| {d} | {b // 1000}k | {seeds} | {' | '.join(cells)} |")
    lines += [*_paired(nets), *_by_depth(nets, told)]
    return "\n".join([*lines, ""])


def _cell(values: Any) -> str:
    if not len(values):
        return "–"
    return f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else "")


def pairs(nets: dict[Key, Network], depth: int) -> Any:
    """Skip minus plain for every budget and seed that has both: accuracy, σ* path and fresh, targeted."""
    made = []
    for key, net in nets.items():
        plain = nets.get((*key[:2], PLAIN, key[3]))
        if key[0] == depth and key[2] == SKIP and plain is not None:
            better = 100 * (net.facts["accuracy"] - plain.facts["accuracy"])
            made.append((better, *difference(net, plain)))
    return np.asarray(made)


def _paired(nets: dict[Key, Network]) -> list[str]:
    lines = [
        "",
        "With minus without, network by network of one depth, number of parameters and seed, on the images that both "
        "get right and the same targets; means with Student's 95 % intervals over these pairs, one at a time:",
        "",
        f"| convolutions | pairs | {' | '.join(COMPARED)} |",
        f"| --- | --- | {' | '.join('---' for _ in COMPARED)} |",
    ]
    for depth in sorted({key[0] for key in nets}):
        apart = pairs(nets, depth)
        if len(apart) > 1:
            lines.append(f"| {depth} | {len(apart)} | {' | '.join(signed(student(each)) for each in apart.T)} |")
    return lines


def _by_depth(nets: dict[Key, Network], told: dict[str, Any]) -> list[str]:
    """The slopes of each kind of network, for depths that were trained with three numbers of parameters."""
    lines = []
    size = np.asarray([net.facts["parameters"] for net in nets.values()], float)
    for each, words in KINDS.items():
        mine = np.asarray([key[2] == each for key in nets])
        depth = np.asarray([key[0] for key in nets])
        full = [d for d in set(depth[mine].tolist()) if len(set(size[mine & (depth == d)].tolist())) > 2]
        mine &= np.isin(depth, full)
        if len(full) > 1:
            lines += ["", f"### {words.capitalize()}"]
            lines += by_depth(depth[mine], size[mine], {name: values[mine] for name, values in told.items()})
    return lines


def drawn(nets: dict[Key, Network], plt: Any) -> Any:
    """Against depth, with and without: a panel per outcome, a colour per number of parameters."""
    told = outcomes(nets)
    kind, depth, budget = (np.asarray([key[place] for key in nets]) for place in (2, 0, 1))
    figure, axes = plt.subplots(1, len(told), figsize=(3.3 * len(told), 3.4), constrained_layout=True)
    titles = {"σ*, path": "σ* of 255, one field per image", "σ*, fresh": "σ* of 255, fresh noise"}
    depths = sorted(set(depth.tolist()))
    for axis, (name, values) in zip(axes, told.items(), strict=True):
        for place, b in enumerate(sorted(set(budget.tolist()))):
            for each, style in ((PLAIN, "--"), (SKIP, "-")):
                here = (budget == b) & (kind == each)
                at = [d for d in depths if (here & (depth == d)).any()]
                means = [values[here & (depth == d)].mean() for d in at]
                label = f"{b // 1000}k, {KINDS[each]}"
                shown = {"color": OKABE_ITO[place], "marker": MARKERS[place], "linestyle": style, "label": label}
                axis.plot(at, means, markersize=5, **shown)
                axis.scatter(depth[here], values[here], s=8, color=OKABE_ITO[place], alpha=0.5, linewidths=0)
        axis.set(xscale="log", xlabel="convolutions", title=titles.get(name, name))
        axis.set_xticks(depths, [str(d) for d in depths])
        axis.minorticks_off()
        axis.title.set_fontsize(9)
    axes[0].legend(fontsize=7)
    return figure
