"""How two groups of classifiers, such as several trainings of two models, differ in robustness."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittle.extend import BrittleError, Derived, Read, did_you_mean, option, register_measure


@register_measure("group-difference")
@dataclass(frozen=True)
class GroupDifference(Derived):
    """The mean ρ of one group of classifiers less that of another."""

    over: ClassVar = frozenset({"images", "nuisance"})  # a cell is about all classifiers together
    reads: ClassVar = (Read("robustness"),)

    more: str = option("", "the group from whose mean ρ the other's is subtracted")
    less: str = option("", "the other group")

    def check(self, about, asked):
        groups = grouped(asked.classifiers)
        for group in (self.more, self.less):
            if group not in groups:
                raise BrittleError(f"no classifier is in the group {group!r}", did_you_mean(group, groups))

    def summarise(self, run):
        measured = run.read("robustness")
        groups = grouped(measured.classifiers)
        return {"differences": [self.difference(measured, groups, *cell[2:]) for cell in run.cells()]}

    def difference(self, measured, groups, images, nuisance):
        rho = {
            name: mean_confidence(measured, measured.cell(name, images, nuisance))
            for group in (self.more, self.less)
            for name in groups[group]
        }
        more, less = (np.mean([rho[name] for name in groups[group]]) for group in (self.more, self.less))
        return {"image_set": images, "nuisance": nuisance, "difference": float(more - less), "rho": rho}


def grouped(classifiers):
    """Names of the classifiers of each group."""
    groups = {}
    for name, facts in classifiers.items():
        groups.setdefault(facts.group, []).append(name)
    return groups


def mean_confidence(measured, cell):
    """Every image has equally many draws: ρ is the mean over all of them."""
    answers = np.concatenate([rows["log_p_label"].to_numpy() for rows in measured.rows(cell)])
    return float(np.exp(answers.astype(np.float64)).mean())
