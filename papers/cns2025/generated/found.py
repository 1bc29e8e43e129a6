"""What the tables say, as the words that stand in the page: numbers with their intervals, and what follows from
them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from work import SCALES, read_table, recall

Row = Mapping[str, Any]
NOT_RUN = "not run"
MAIN = "resnet"  # the classifier that stands for ResNet-50
LAST = SCALES[-1]


def number(value: float | None, digits: int = 3) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # + 0.0: no −0.000


def estimate(row: Row | None, name: str, digits: int = 3) -> str:
    """0.412 [0.380, 0.440]"""
    if row is None:
        return NOT_RUN
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    between = "" if low is None or high is None else f" [{number(low, digits)}, {number(high, digits)}]"
    return number(row[name], digits) + between


def direction(row: Row | None, name: str, *, less: bool, even: float = 0.0) -> str:
    """Whether a number lies on the paper's side of what is even, beyond its interval."""
    if row is None:
        return NOT_RUN
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None:
        return "can't be told"
    if less:
        return "same direction" if high < even else "the other way" if low > even else "can't be told"
    return "same direction" if low > even else "the other way" if high < even else "can't be told"


def pick(rows: list[dict[str, Any]], **which: Any) -> dict[str, Any] | None:
    return next((row for row in rows if all(row[key] == value for key, value in which.items())), None)


def texts(folder: Path) -> dict[str, str]:
    """Every name that the page's template may use."""
    found: dict[str, str] = {}
    for part in (_gap, _ways, _targets, _filter, _stages, _drops, _real, _tuning, _diffusion, _speed, _rest):
        found |= dict(part(folder))
    return found


Named = Iterator[tuple[str, str]]


def _gap(folder: Path) -> Named:
    rows = read_table(folder, "gap")
    for way in ("names", "learned words"):
        row = pick(rows, way=way, classifier=MAIN)
        name = way.replace(" ", "_")
        yield f"gap_distance_{name}", estimate(row, "distance", 2)
        yield f"gap_accuracy_{name}", estimate(row, "accuracy")
    row = pick(rows, way="learned words", classifier=MAIN)
    yield "gap_floor", NOT_RUN if row is None else number(row["floor"], 2)
    yield "gap_distance_is", NOT_RUN if row is None else row["distance_is"]
    yield "gap_accuracy_on_real", NOT_RUN if row is None else number(row["accuracy_on_real"])
    yield "gap_distance_apart", estimate(row, "distance_apart", 2)
    yield "gap_accuracy_apart", estimate(row, "accuracy_apart")
    yield "gap_distance_verdict", direction(row, "distance_apart", less=True)
    yield "gap_accuracy_verdict", direction(row, "accuracy_apart", less=False)


def _ways(folder: Path) -> Named:
    steps, curves = read_table(folder, "ways-steps"), read_table(folder, "ways-curves")
    for way in ("slider", "slider throughout", "two prompts", "text difference"):
        name = way.replace(" ", "_")
        own = [r for r in steps if (r["way"], r["alignment"], r["from_scale"]) == (way, "shift words", 0.5)]
        yield f"rising_{name}", _between(own, "share")
        last = [row for row in curves if (row["way"], row["scale"]) == (way, LAST)]
        yield f"structure_{name}", _between(last, "structure", 2)
        yield f"accuracy_{name}", _between(last, "accuracy", 2)
    yield from _verdict_of_ways(curves)


def _verdict_of_ways(curves: list[dict[str, Any]]) -> Named:
    """Is more of the picture kept with the slider off in early steps, under each shift?"""
    shifts = dict.fromkeys(row["shift"] for row in curves)
    kept = []
    for shift in shifts:
        late, always = (pick(curves, shift=shift, way=way, scale=LAST) for way in ("slider", "slider throughout"))
        kept.append(late is not None and always is not None and late["structure"] > always["structure"])
    yield "structure_verdict", f"higher under {sum(kept)} of {len(kept)} shifts" if kept else NOT_RUN


def _targets(folder: Path) -> Named:
    rows = read_table(folder, "targets")
    for target in ("direction", "printed", "unconditional", "direction, η = 4"):
        name = "".join(letter for letter in target.replace(" ", "_") if letter.isalnum() or letter == "_")
        yield f"target_{name}", estimate(pick(rows, target=target, scale=1.0), "accuracy", 2)


def _filter(folder: Path) -> Named:
    rows, about = read_table(folder, "filter"), recall(folder, "trainings").get("filter")
    for name, which in (("ours", "2 of 4"), ("text", "text alignment alone")):
        row = pick(rows, filter=which, labels="judged")
        for column in ("true positive", "false positive", "accuracy"):
            yield f"filter_{name}_{column.replace(' ', '_')}", estimate(row, column, 2)
    yield "filter_labels_of", NOT_RUN if about is None else about["labels_of"].partition(" (")[0]
    yield "filter_left", estimate(about, "out_of_class_left")
    yield "filter_before", estimate(about, "out_of_class_before")
    shifts = read_table(folder, "filter-shifts")
    kept, paths = (sum(row[name] for row in shifts) for name in ("kept", "paths"))
    yield "filter_kept", f"{kept} of {paths} paths" if shifts else NOT_RUN
    drops = read_table(folder, "drops")
    for name, which in (("all", "all"), ("ours", "filter"), ("text", "text alone"), ("labels", "proxy labels")):
        row = pick(drops, classifier=MAIN, kept=which, shift="all", scale=LAST)
        yield f"kept_{name}", estimate(row, "drop", 2) if row or not drops else "no path is kept"


def _stages(folder: Path) -> Named:
    rows, about = read_table(folder, "stages"), recall(folder, "trainings").get("stages")
    for column in ("generated", "kept", "easy", "in_class"):
        yield f"stage_{column}", " / ".join(str(row[column]) for row in rows) or NOT_RUN
    yield "to_label", NOT_RUN if about is None else str(about["to_label"])
    visible = read_table(folder, "visible")
    for scale in (0.0, 1.0, LAST):
        yield f"visible_{scale:g}".replace(".", "_"), _between([r for r in visible if r["scale"] == scale], "named", 2)


def _drops(folder: Path) -> Named:
    rows = read_table(folder, "fewer-classes")
    for name, which in (("accuracy", "accuracy at 0"), ("drop", "mean drop")):
        row = pick(rows, classifier=MAIN, number=which)
        said = NOT_RUN if row is None else f"{number(row['all'])}; {number(row['low'])} to {number(row['high'])}"
        yield f"halves_{name}", said
    rows = read_table(folder, "fewer-steps")
    for sampler in ("ddim", "unipc"):
        yield f"sampler_{sampler}", estimate(pick(rows, classifier=MAIN, sampler=sampler, scale=LAST), "drop", 2)


def _real(folder: Path) -> Named:
    row = pick(read_table(folder, "oodcv-association"), classifier="all")
    yield (
        "real_association",
        NOT_RUN if row is None else f"ρ = {number(row['spearman'], 2)}, p = {number(row['p_value'])}",
    )
    rows = [row for row in read_table(folder, "oodcv-matching") if row["classifier"] == MAIN]
    said = [
        f"{row['shift']} "
        + ("not up to 3" if row["matching_scale_of_drop"] is None else number(row["matching_scale_of_drop"], 1))
        for row in rows
    ]
    yield "real_scales", ", ".join(said) or NOT_RUN
    words = [row for row in read_table(folder, "oodcv-words") if row["least"] == 0 and row["shift"] != "clean"]
    right, of = sum(r["images"] for r in words if r["named"] == r["shift"]), sum(r["images"] for r in words)
    yield "real_words", f"{right} of {of}" if words else NOT_RUN
    near = [row for row in read_table(folder, "oodcv-nearest") if row["encoder"] == "clip" and row["shift"] != "clean"]
    for trait in ("shift", "class"):
        own = [row for row in near if row["trait"] == trait]
        yield f"near_{trait}", _between(own, "share", 2)
        yield f"near_{trait}_chance", _range([row["chance"] for row in own], 2)


def _tuning(folder: Path) -> Named:
    rows = read_table(folder, "tuning")
    for mixture, name in (("half generated", "half"), ("real alone", "real")):
        own = [row for row in rows if (row["classifier"], row["tuned_on"]) == (MAIN, mixture)]
        yield f"tuned_{name}_clean", estimate(pick(own, images="clean"), "change")
        yield f"tuned_{name}_shifted", _between([row for row in own if row["images"] != "clean"], "change")
    own = [row for row in rows if (row["classifier"], row["tuned_on"]) == (MAIN, "half generated")]
    better = [row["change_low"] > 0 for row in own if row["images"] != "clean"]
    yield "tuned_verdict", f"better under {sum(better)} of {len(better)} shifts" if better else NOT_RUN
    about = recall(folder, "trainings").get("tuning")
    yield "tuned_images", NOT_RUN if about is None else str(about["images"])
    yield "tuned_generated", NOT_RUN if about is None else str(about["generated"])


def _diffusion(folder: Path) -> Named:
    rows = read_table(folder, "diffusion-apart")
    row = pick(rows, classifier=MAIN, shift="all")
    yield "diffusion_growth", estimate(row, "growth")
    yield "diffusion_paths", NOT_RUN if row is None else str(row["paths"])
    said = {"can't be told": "whether its drop grows faster can't be told"}
    verdict = "" if row is None else row["verdict"]
    yield "diffusion_verdict", said.get(verdict, f"its drop grows {verdict}") if verdict else NOT_RUN
    curves = read_table(folder, "diffusion-curves")
    for name in ("diffusion", MAIN):
        yield f"diffusion_drop_{name}", estimate(pick(curves, classifier=name, shift="all", scale=LAST), "drop", 2)


def _speed(folder: Path) -> Named:
    rows = {row["way"]: row["images_per_second"] for row in read_table(folder, "speed")}
    single, batched = rows.get("diffusers, one image at a time"), rows.get("diffusers, batched by seed")
    yield "speed", number(rows["brittle"], 0) if rows else NOT_RUN
    ratios: dict[str, Callable[[], float]] = {
        "speed_single": lambda: rows["brittle"] / single,  # type: ignore[operator]
        "speed_batched": lambda: rows["brittle"] / batched,  # type: ignore[operator]
        "speed_shared": lambda: rows["brittle"] / rows["brittle, no early steps shared"],
    }
    for name, ratio in ratios.items():
        yield name, f"{ratio():.1f}×" if rows else NOT_RUN


def _rest(folder: Path) -> Named:
    rows = read_table(folder, "combination")
    for place, shift in enumerate(("fog", "noise")):
        both, other = (_cell(rows, 2.0, 2.0), _cell(rows, *((2.0, 0.0) if place else (0.0, 2.0))))
        key = f"alignment with {shift}"
        said = NOT_RUN if both is None or other is None else f"{number(both[key])} against {number(other[key])}"
        yield f"both_{shift}", said
    done = recall(folder, "done")
    yield "seconds", f"{sum(each['seconds'] for each in done.values()):.0f} s" if done else NOT_RUN
    yield "device", ", ".join(dict.fromkeys(each["device"] for each in done.values())) or NOT_RUN
    trained = recall(folder, "trainings")
    for name in ("pipeline", "tokens", "sliders"):
        about = trained.get(name)
        yield f"{name}_seconds", NOT_RUN if about is None else f"{about['seconds']:.0f} s"
        yield f"{name}_steps", NOT_RUN if about is None else str(about.get("steps", "–"))
    pipeline, sliders = trained.get("pipeline"), trained.get("sliders")
    yield "parameters", NOT_RUN if pipeline is None else f"{pipeline['parameters'] / 1e6:.1f} million"
    yield "slider_count", NOT_RUN if sliders is None else str(sliders["count"])


def _cell(rows: list[dict[str, Any]], fog: float, noise: float) -> dict[str, Any] | None:
    return pick(rows, **{"scale of fog": fog, "scale of noise": noise}) if rows else None


def _between(rows: list[dict[str, Any]], name: str, digits: int = 2) -> str:
    """The mean over shifts, and between which values they lie."""
    values = [row[name] for row in rows if row[name] is not None]
    if not values:
        return NOT_RUN
    return f"{number(sum(values) / len(values), digits)} ({_range(values, digits)})"


def _range(values: list[float], digits: int) -> str:
    if not values:
        return NOT_RUN
    return f"{number(min(values), digits)} to {number(max(values), digits)}"
