"""A block for the model card of Hugging Face: results in its metadata (`model-index`), and a section of its text.

The metadata are made by huggingface_hub's own EvalResult, one per number. The section stands between two comments, so
that writing it again replaces it and touches nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError, MissingPackage
from brittle.files import write_durably
from brittle.report.blocks import Group, Sentence
from brittle.report.renderers.markdown import as_markdown
from brittle.report.sections import section_of
from brittle.results import RunPresentation

BEGIN, END = "<!-- brittle: begin -->", "<!-- brittle: end -->"
SECTION = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.DOTALL)
OURS = "brittle"  # the configuration of a metric, by which its numbers are known again
TASK = "image-classification"
METRICS: Mapping[str, tuple[str, str]] = {  # of robustness: number → type and name of the metric
    "accuracy_nuisance": ("accuracy", "Accuracy under {nuisance}"),
    "rho": ("rho", "ρ under {nuisance} (mean probability of the label)"),
    "accuracy_clean": ("accuracy", "Accuracy, untouched images"),
}


def write_card(found: RunPresentation, path: Path) -> None:
    """Puts the block into a model card, which is made where there is none. What else stands there stays."""
    try:
        from huggingface_hub import ModelCard, ModelCardData
    except ImportError as error:
        raise MissingPackage("huggingface_hub", "huggingface", "a model card") from error
    name = path.parent.resolve().name
    card = ModelCard(path.read_text(encoding="utf-8") if path.is_file() else f"---\n{{}}\n---\n\n# {name}\n")
    data: Any = card.data
    results = [each for each in data.eval_results or [] if each.metric_config != OURS] + list(_eval_results(found))
    values = {key: value for key, value in data.to_dict().items() if key != "model-index"}
    if results:
        values |= {"model_name": data.model_name or name, "eval_results": results}
    card.data = ModelCardData(**values)
    section = card_section(found)
    replaced, times = SECTION.subn(lambda _: section, card.text)
    card.text = replaced if times else f"{card.text.rstrip()}\n\n{section}"
    write_durably(path, lambda to: to.write_text(str(card), encoding="utf-8"))


def card_section(found: RunPresentation) -> str:
    """What every measure says in brief, as Markdown between its two comments."""
    entries = found.run.summary["measures"]
    several = len(entries) > 1
    parts = [Group(name, tuple(section_of(entry["kind"]).brief(entry))) for name, entry in entries.items()]
    blocks = parts if several else parts[0].blocks
    warnings = [Sentence(text, "item") for text in found.run.summary.get("warnings", ())]
    text = as_markdown([Group("Robustness", (*blocks, *warnings))], 2)
    return f"{BEGIN}\n{text}\n{END}\n"


def _eval_results(found: RunPresentation) -> Iterator[Any]:
    """One per number of robustness; of accuracy without a nuisance one per image set."""
    from huggingface_hub import EvalResult

    seen: set[tuple[str, str]] = set()
    classifiers = {row["classifier"] for row in _rows(found)}
    if len(classifiers) > 1:
        raise BrittleError(
            f"a model card is about one model, and there are results of {', '.join(sorted(classifiers))}",
            "Measure the one that the card is of.",
        )
    for row in _rows(found):
        for number, (kind, name) in METRICS.items():
            said = name.format(nuisance=row["nuisance"])
            if row.get(number) is None or (row["image_set"], said) in seen:
                continue
            seen.add((row["image_set"], said))
            low, high = row["interval" if number == "rho" else f"{number}_interval"]
            yield EvalResult(
                task_type=TASK,
                dataset_type=re.sub(r"[^\w.-]+", "-", row["image_set"]),
                dataset_name=row["image_set"],
                metric_type=kind,
                metric_value=round(row[number], 4),
                metric_name=said,
                metric_args={"low": round(low, 4), "high": round(high, 4), "confidence": row["confidence"]},
                dataset_args={"images": row["images"], "nuisance": row["nuisance"]},
                metric_config=OURS,
            )


def _rows(found: RunPresentation) -> list[Mapping[str, Any]]:
    entries = found.run.summary["measures"].values()
    return [row for entry in entries if entry["kind"] == "robustness" for row in entry["results"]]
