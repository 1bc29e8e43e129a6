"""What several labels of an image say together (CNS-Bench, A.9.1).

Out of class if anybody says "not class"; else in class if anybody says "class"; else partly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from brittle.generation.labels.store import Labeller

Verdict = Literal["in class", "partly", "out of class"]
VERDICTS: tuple[Verdict, ...] = ("in class", "partly", "out of class")


def verdict(labels: Sequence[str]) -> Verdict:
    """Of at least one label."""
    if "not" in labels:
        return "out of class"
    return "in class" if "class" in labels else "partly"


def verdicts(labellers: Sequence[Labeller]) -> dict[str, Verdict]:
    """Image → what its labels say together, for every generated image with any."""
    by_image: dict[str, list[str]] = {}
    for labeller in labellers:
        for image, answer in labeller.generated.items():
            by_image.setdefault(image, []).append(answer.label)
    return {image: verdict(labels) for image, labels in by_image.items()}


def described(labellers: Sequence[Labeller]) -> str:
    """Whose labels these are. A proxy is called one."""
    if labellers and labellers[0].proxy:
        return f"a proxy ({', '.join(each.proxy for each in labellers)}), not people"
    return f"{len(labellers)} {'person' if len(labellers) == 1 else 'people'}"
