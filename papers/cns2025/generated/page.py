"""README.md, results.md and the figures, from the tables that run.py wrote.

    python papers/cns2025/generated/page.py [--found FOLDER --out FOLDER]

README.md is README.template.md with the names in braces replaced by what the tables say; nothing there is filled in by
hand. What has not been run says so.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from found import MAIN, NOT_RUN, estimate, number, texts
from plots import all_plots
from work import read_table, recall

HERE = Path(__file__).parent
NAME = re.compile(r"\{(\w+)\}")
PICTURES = {
    "grid": "the benchmark (a class per line, six scales)",
    "ways": "the four ways, three images each",
    "nearest": "nearest images (first a real one, then five generated ones)",
    "combination": "two sliders added",
}
PLOTS = {
    "gap": "the gap to real images",
    "kept": "accuracy by which images are kept",
    "ways-curves": "structure that is kept",
    "diffusion": "drops beside the diffusion classifier's",
    "real": "generated and real shifts",
}
DONE = ("name", "seconds", "device", "torch")
# Table, title, columns as they are, columns with an interval and their digits.
TABLES: tuple[tuple[str, str, Sequence[str], Sequence[tuple[str, int]]], ...] = (
    (
        "gap",
        "How far generated images are from real ones (table 2a)",
        ("distance_is", "way", "classifier", "images"),
        (("distance", 2), ("accuracy", 3), ("distance_apart", 2), ("accuracy_apart", 3)),
    ),
    (
        "filter",
        "The out-of-class filter (table 2b)",
        ("filter", "labels"),
        (("true positive", 2), ("false positive", 2), ("accuracy", 2)),
    ),
    ("filter-shifts", "Paths that stay", ("shift", "paths", "kept", "kept_by_text"), ()),
    ("verdicts", "What the proxy says (figure 28)", ("scale", "verdict", "images"), ()),
    (
        "stages",
        "In class after each stage (table 8)",
        ("scale", "generated", "kept", "easy", "in_class", "unlabelled"),
        (),
    ),
    (
        "visible",
        "Images whose shift the encoder names (table 9, by an encoder and not by people)",
        ("shift", "scale"),
        (("named", 2),),
    ),
    (
        "failures",
        "First failures (figures 13 and 30), paths that the filter keeps",
        ("classifier", "shift", "first_wrong_at", "paths", "of"),
        (),
    ),
    (
        "ways-steps",
        "Steps in which alignment rises (A.8)",
        ("shift", "way", "alignment", "from_scale", "steps", "gained", "always"),
        (("share", 2),),
    ),
    (
        "targets",
        "What sliders are trained to say (equation 2)",
        ("target", "scale", "alignment", "first_loss", "last_loss"),
        (("accuracy", 2),),
    ),
    (
        "diffusion-apart",
        "The diffusion classifier's drop less another's (figure 14)",
        ("shift", "classifier", "paths", "verdict"),
        (("growth", 3), ("last_drop", 2)),
    ),
    (
        "oodcv-matching",
        "Where generated drops come down to real ones (figure 5)",
        ("classifier", "shift", "real_drop", "generated_drop", "matching_scale", "matching_scale_of_drop"),
        (),
    ),
    ("oodcv-association", "Do drops go together?", ("classifier", "pairs", "pearson", "spearman", "p_value"), ()),
    ("oodcv-words", "Shifts named by words (table 10)", ("shift", "named", "least", "images", "of"), ()),
    (
        "oodcv-nearest",
        "The five nearest generated images (figures 4 and 31)",
        ("encoder", "shift", "trait", "images", "chance"),
        (("share", 2),),
    ),
    (
        "tuning",
        "Fine-tuning (table 6)",
        ("classifier", "tuned_on", "images"),
        (("before", 3), ("after", 3), ("change", 3)),
    ),
    (
        "combination",
        "Two sliders (A.11)",
        ("scale of fog", "scale of noise", "alignment with fog", "alignment with noise"),
        (("accuracy", 2),),
    ),
    (
        "fewer-classes",
        "Half of the classes (A.7.4): over all, and 95 % of the halves lie between",
        ("classifier", "number", "all", "low", "high"),
        (),
    ),
    (
        "fewer-steps",
        "Two samplers (A.7.4)",
        ("classifier", "sampler", "steps", "scale", "paths"),
        (("accuracy", 2), ("drop", 2)),
    ),
    ("speed", "Images per second", ("way", "images", "steps", "images_per_second"), ()),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--found", type=Path, default=HERE / "tables")
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    plots = all_plots(given.found, given.out)
    (given.out / "results.md").write_text("\n".join(results(given.found)), encoding="utf-8")
    values = texts(given.found)
    values |= {"pictures": pictures(given.found, plots), "state": state(values)}
    (given.out / "README.md").write_text(filled(values), encoding="utf-8")


def pictures(found: Path, plots: Sequence[str]) -> str:
    """Links to what there is."""
    there = [f"[{about}](tables/{name}.png)" for name, about in PICTURES.items() if (found / f"{name}.png").is_file()]
    drawn = [f"[{about}]({name}-plot.png)" for name, about in PLOTS.items() if f"{name}-plot.png" in plots]
    return f"Pictures: {', '.join([*drawn, *there])}." if drawn or there else "There are no pictures yet."


def state(values: Mapping[str, str]) -> str:
    """Said above everything else: how much of the page has been run."""
    lacking = sum(value == NOT_RUN for value in values.values())
    if not lacking:
        return ""
    how_many = (
        "Nothing" if lacking == len(values) else f"Not everything ({len(values) - lacking} of {len(values)} numbers)"
    )
    return f'\n**{how_many} of this has been run yet**; "{NOT_RUN}" stands where a number will.'


def filled(values: dict[str, str]) -> str:
    """The template with its names replaced; a name that nothing is known of is a mistake."""
    template = (HERE / "README.template.md").read_text(encoding="utf-8")
    return NAME.sub(lambda match: values[match[1]], template)


def results(found: Path) -> Iterator[str]:
    yield "# Generated shifts: every table\n"
    yield "Made by `python papers/cns2025/generated/page.py`. Intervals are 95 %."
    yield f"The classifier {MAIN} stands for the paper's ResNet-50.\n"
    done = [{"name": name} | about for name, about in recall(found, "done").items()]
    if any(about["tiny"] for about in done):
        yield "**Some parts were run with --tiny: their numbers mean nothing.**\n"
    if done:
        yield "## What was run\n"
        yield table(DONE, [[plain(row[key]) for key in DONE] for row in done])
    for name, title, columns, estimates in TABLES:
        rows = read_table(found, name)
        if rows:
            yield f"## {title}\n"
            yield table([*columns, *(each for each, _ in estimates)], [_line(row, columns, estimates) for row in rows])


def _line(row: dict[str, Any], columns: Sequence[str], estimates: Sequence[tuple[str, int]]) -> list[str]:
    return [plain(row[each]) for each in columns] + [estimate(row, name, digits) for name, digits in estimates]


def plain(value: Any) -> str:
    if value is None or not isinstance(value, float):
        return "–" if value is None else str(value)
    short = f"{value:g}"  # scales, and 0
    return short if len(short) <= 3 else number(value, 3 if abs(value) >= 0.001 else 5)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = [each.replace("_", " ") for each in head]
    return "\n".join(f"| {' | '.join(each)} |" for each in (names, ["---"] * len(head), *rows)) + "\n"


if __name__ == "__main__":
    main()
