"""What weak points say, in plain sentences."""

from __future__ import annotations

from brittle.measures.weak_points.diagnosis import NO_OTHER_LABEL, TRUSTED
from brittle.report.page.section import Row
from brittle.report.page.words import counted, listed, number
from brittle.report.sections.weak_points.draws import telling_parameters

FLOWS, PARAMETERS = 3, 2
ONE_SIDED = 0.7  # of the shifts: how much of them must point one way to be called a direction
LIMITS = (
    "Weak points are relative to the prior: another prior has other weak points, and one so wide that it destroys the "
    "label has them everywhere. Look whether you can still tell what the pictures show.",
    "They weigh θ with the classifier’s own p(not ℓ), so they move with calibration: at a higher temperature more of "
    "them are places where it merely doubts, at a lower one they crowd where it is wrong. Only the pictures and flows "
    "are restricted to draws on which it says another label.",
    "Draws are finite. They show where mass was found; a region that no draw has reached may still be there, and the "
    "smallest transformation found is not the smallest there is. No interval is given for shares, shifts and spreads.",
    "Draws that are too few, not mixed, or whose weights can’t be trusted show real mistakes, but not how common each "
    "kind is.",
    "Samplers follow a classifier’s answers, which may differ in their last digits from one device to another: there "
    "they find other weak points.",
)


def headline(entry: Row) -> str:
    """Where the weak points lead."""
    where = f"Weak points of {entry['classifier']} under {entry['nuisance']}"
    flows = entry["flows"]
    if not flows:
        seen = "nothing was found" if not entry["found"] else "no draw that was kept changes the label"
        return f"{where}: {seen} on the {counted(entry['images'] - entry['already_wrong'], 'image')} looked at."
    shown = [f"from {flow['from_label']} to {flow['to_label']} ({100 * flow['share']:.0f} %)" for flow in flows[:FLOWS]]
    rest = f"; {len(flows) - FLOWS} other ways share the rest" if len(flows) > FLOWS else ""
    doubt = ""
    if not entry["trusted"]:
        doubt = ", judging by draws that can’t be trusted"
    elif entry["trusted"] < entry["images"]:
        doubt = f" (draws of {entry['trusted']} of {entry['images']} images can be trusted)"
    return f"{where} lead most often {listed(shown)}{rest}{doubt}."


def trust(entry: Row) -> str:
    """How many images' draws can be trusted, and why the others' can't."""
    bad = {status: count for status, count in entry["statuses"].items() if status not in (TRUSTED, NO_OTHER_LABEL)}
    if not bad and entry["trusted"] == entry["images"]:
        return f"The draws of all {counted(entry['images'], 'image')} can be trusted."
    if not bad:
        return f"The draws of {entry['trusted']} of {counted(entry['images'], 'image')} can be trusted."
    told = listed([f"{status}: {count}" for status, count in sorted(bad.items(), key=lambda item: -item[1])])
    images = counted(entry["images"], "image")
    if not entry["trusted"]:
        return f"The draws of none of the {images} can be trusted ({told}): read all below as a hint."
    return (
        f"The draws of {entry['trusted']} of {images} can be trusted; not those of the others ({told}), which are "
        "marked."
    )


def without_another_label(entry: Row) -> str:
    """That some images' draws are doubts and no failures."""
    images = counted(entry["no_other_label"], "image")
    return (
        f"On {images} no draw has another label: weak points are then where the classifier doubts most, and 1 − µ is "
        "that doubt. A failure that is rare and was never met is not in it."
    )


def findings(entry: Row, unlabelled: int) -> list[str]:
    """Everything to know of one classifier under one nuisance, most important first."""
    said = [headline(entry), *_parameters(entry), *([trust(entry)] if entry["found"] else ())]
    if entry["no_other_label"]:
        said.append(without_another_label(entry))
    wrong = entry["already_wrong"]
    if wrong:
        said.append(
            f"{counted(wrong, 'image')} {'is' if wrong == 1 else 'are'} wrong untouched, where any θ will do: sampled "
            "like the others, but left out of flows, parameters and pictures."
        )
    if entry["hard"]:
        said.append(
            "This classifier answers 0 or 1 and nothing between: p(not ℓ) is 1 where it is wrong and 0 elsewhere, so "
            "its weak points are the prior's own draws at which it is wrong."
        )
    if unlabelled:
        said.append(f"{counted(unlabelled, 'image')} without a label: there the clean prediction counts as right.")
    return said


def _parameters(entry: Row) -> list[str]:
    rows = telling_parameters(entry)
    if not rows:
        return []
    told = ", then along ".join(f"{row['parameter']} ({_moved(row)})" for row in rows[:PARAMETERS])
    return [f"It breaks most along {told}."]


def _moved(row: Row) -> str:
    """its mean off by 0.30 standard deviations of the prior, to larger values; its spread 1.23 times the prior's"""
    direction = ""
    if abs(row["signed_shift"]) > ONE_SIDED * row["shift"] > 0:
        direction = "to larger values" if row["signed_shift"] > 0 else "to smaller values"
    return (
        f"its mean off by {number(row['shift'], 2)} standard deviations of the prior, {direction or 'either way'}; its "
        f"spread {number(row['spread'], 2)} times the prior’s"
    )
