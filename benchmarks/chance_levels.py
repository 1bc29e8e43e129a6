"""Coverage, size and false claims where chance decides, by simulation with known truth, as Markdown tables.

    OMP_NUM_THREADS=1 python benchmarks/chance_levels.py [consistency] [interference] [line] [--studies 300]

Seeded; a few minutes on one core. "before" is the method that was replaced, restated here; "after" is the one in
`brittle.statistics`. All at confidence 0.95.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import multivariate_normal, norm

from brittle.statistics.consistency import consistency, from_counts, interval, redrawn, redrawn_together
from brittle.statistics.crossed import resampled
from brittle.statistics.interference import WrongAnswers, increases, index, renamed_at_random, unequal_shares
from brittle.statistics.intervals import simultaneous
from brittle.statistics.line import gains, line

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CONFIDENCE, DRAWS = 0.95, 500
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


# Error consistency


def both_wrong(first: float, second: float, correlation: float) -> float:
    """How often two are wrong whose difficulties are normal with this correlation, at these error rates."""
    return float(
        multivariate_normal.cdf(norm.ppf([first, second]), [0, 0], [[1, correlation], [correlation, 1]])
        if correlation < 1
        else min(first, second)
    )


def kappa_of(first: float, second: float, together: float) -> float:
    cells = np.array([1 - first - second + together, second - together, first - together, together])
    return float(from_counts(cells).kappa)


def plain_quantiles(drawn: Array) -> tuple[float, float]:
    known = drawn[np.isfinite(drawn)]
    low, high = np.quantile(known, ENDS) if len(known) >= len(drawn) / 2 else (np.nan, np.nan)
    return float(low), float(high)


def kappa_intervals(right: Array, pairs: npt.NDArray[np.int64], factors: list[Array]) -> list[tuple[float, float]]:
    """Before and after, of the mean κ over pairs; nothing where κ is undefined in all of them."""
    seen, count = np.ones_like(right), right.shape[1]
    kappa = consistency(right, seen, pairs).kappa
    known = ~np.isnan(kappa)
    if not known.any():
        return []
    here = pairs[known]
    before = resampled(lambda weights: consistency(right, seen, here, weights).kappa, count, factors, DRAWS, 0)
    defined = ~np.isnan(before)
    with np.errstate(invalid="ignore"):
        means = np.where(defined, before, 0).sum(1) / defined.sum(1)
    if len(here) == 1 and not factors:
        after = redrawn(right, here, DRAWS, 0)
    else:
        after = redrawn_together(right, seen, here, factors, DRAWS, 0)
    told = interval(float(kappa[known].mean()), after.mean(1), CONFIDENCE)
    assert told is not None
    return [plain_quantiles(means), told]


def coverage(studies: Iterator[list[tuple[float, float]]], truth: float) -> str:
    """Before and after, of the studies in which there is something to tell."""
    told = np.array([each for each in studies if each])  # (S, 2, 2)
    held = ((told[..., 0] <= truth) & (truth <= told[..., 1])).mean(0)
    return f"{held[0]:.2f} | {held[1]:.2f} | {np.nanmean(told[:, 1, 1] - told[:, 1, 0]):.2f}"


WHOLE_SHAPES = (  # deciders that one is compared with, shapes that are hard for each, correlation of difficulties
    (1, 0.05, 0.5),
    (1, 0.1, 0.9),
    (1, 0.1, 0.0),
    (1, 0.3, 0.5),
    (1, 0.3, 0.9),
    (5, 0.1, 0.5),
    (5, 0.3, 0.9),
)


def consistency_table(studies: int) -> None:
    print("| | κ | images | covered before | after | mean width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    one = np.array([(0, 1)])
    for first, second, together in (
        (0.02, 0.02, 0.0102),
        (0.02, 0.02, 0.0004),
        (0.05, 0.05, 0.0454),
        (0.05, 0.05, 0.049),
        (0.05, 0.05, 0.001),
        (0.05, 0.05, 0.0),
        (0.02, 0.1, 0.01),
        (0.3, 0.3, 0.195),
    ):
        truth = kappa_of(first, second, together)
        for count in (20, 100, 500):
            rng = np.random.default_rng(count)
            found = (
                kappa_intervals(two_deciders(rng, count, first, second, together), one, []) for _ in range(studies)
            )
            print(
                f"| errors {first:.0%} and {second:.0%} | {truth:.2f} | {count} | {coverage(found, truth)} |",
                flush=True,
            )
    for shapes, textures in ((10, 10), (20, 20), (40, 12)):
        for rate, shared, correlation in ((0.03, 0.0, 0.5), (0.03, 0.5, 0.75), (0.05, 0.8, 0.8), (0.3, 0.5, 0.75)):
            truth = kappa_of(rate, rate, both_wrong(rate, rate, correlation))
            rng = np.random.default_rng(shapes)
            found = (
                kappa_intervals(*crossed(rng, shapes, textures, rate, shared, correlation)) for _ in range(studies)
            )
            about = f"{shapes} shapes × {textures} textures, {shared:.0%} of difficulty by these, errors {rate:.0%}"
            print(f"| {about} | {truth:.2f} | {shapes * textures} | {coverage(found, truth)} |", flush=True)
    for shapes, textures in ((5, 4), (10, 10), (20, 10), (40, 12)):
        for people, rate, correlation in WHOLE_SHAPES:
            truth = kappa_of(rate, rate, both_wrong(rate, rate, correlation))
            rng = np.random.default_rng(shapes)
            found = (
                kappa_intervals(*whole_shapes(rng, shapes, textures, people + 1, rate, correlation))
                for _ in range(studies)
            )
            whose = "" if people == 1 else f", mean over {people} people"
            about = f"whole shapes wrong: {rate:.0%} of {shapes} shapes × {textures} textures{whose}"
            print(f"| {about} | {truth:.2f} | {shapes * textures} | {coverage(found, truth)} |", flush=True)
    for people in (3, 10):
        pairs = np.array([(0, person) for person in range(1, people + 1)])
        for rate, correlation in ((0.03, 0.0), (0.03, 0.9), (0.05, 0.99), (0.3, 0.5)):
            truth = kappa_of(rate, rate, both_wrong(rate, rate, correlation))
            for count in (20, 100, 500):
                rng = np.random.default_rng(people)
                found = (
                    kappa_intervals(difficult(rng, people + 1, count, rate, correlation), pairs, [])
                    for _ in range(studies)
                )
                about = f"mean over {people} people, errors {rate:.0%}"
                print(f"| {about} | {truth:.2f} | {count} | {coverage(found, truth)} |", flush=True)


def two_deciders(rng: np.random.Generator, count: int, first: float, second: float, together: float) -> Array:
    where = rng.random(count)
    return np.array([where >= first, (where >= first + second - together) | (where < first - together)], np.float64)


def difficult(rng: np.random.Generator, deciders: int, count: int, rate: float, correlation: float) -> Array:
    """Who is right (N, n), where difficulties are normal and correlate between deciders."""
    hard = np.sqrt(correlation) * rng.normal(size=count)
    return (hard + np.sqrt(1 - correlation) * rng.normal(size=(deciders, count)) > norm.ppf(rate)).astype(np.float64)


def crossed(
    rng: np.random.Generator, shapes: int, textures: int, rate: float, shared: float, correlation: float
) -> tuple[Array, npt.NDArray[np.int64], list[Array]]:
    """Two deciders on every combination; `shared` of the variance of difficulties is of shapes and textures."""
    shape, texture = np.divmod(np.arange(shapes * textures), textures)
    hard = np.sqrt(shared / 2) * (rng.normal(size=shapes)[shape] + rng.normal(size=textures)[texture])
    hard = hard + np.sqrt(correlation - shared if correlation > shared else 0) * rng.normal(size=len(shape))
    own = np.sqrt(1 - max(correlation, shared)) * rng.normal(size=(2, len(shape)))
    return (hard + own > norm.ppf(rate)).astype(np.float64), np.array([(0, 1)]), [shape, texture]


def whole_shapes(
    rng: np.random.Generator, shapes: int, textures: int, deciders: int, rate: float, correlation: float
) -> tuple[Array, npt.NDArray[np.int64], list[Array]]:
    """The first decider and each of the others on every combination: all stimuli of a shape are wrong, or none."""
    shape, texture = np.divmod(np.arange(shapes * textures), textures)
    right = difficult(rng, deciders, shapes, rate, correlation)[:, shape]
    return right, np.array([(0, other) for other in range(1, deciders)]), [shape, texture]


# Interference


class Answers(NamedTuple):
    """Labels (M,), answers to M untouched images (R, M) and to distorted ones (R, M, draws), of K classes."""

    labels: Ints
    clean: Ints
    said: Ints
    classes: int


def answers(
    rng: np.random.Generator,
    images: int = 300,
    classes: int = 10,
    runs: int = 1,
    draws: int = 5,
    alike: str = "none",  # which answers to an image are equal: none, those of its draws, or of its draws and runs
    wrong: float = 0.3,  # of the images, or of the answers where these differ
    clean: str = "none",  # none, persisting, or others: errors on untouched images
    clean_share: float = 0.1,
    clean_to: int | None = None,  # these go to one class
    shares: Sequence[float] = (),  # of the classes
    by_share: bool = False,  # whether wrong answers follow these
    planted: float = 0.0,  # share of the errors that go to class 1
) -> Answers:
    shares = np.asarray(shares) if len(shares) else np.full(classes, 1 / classes)
    labels = rng.choice(classes, images, p=shares)
    shape = {"none": (runs, images, draws), "draws": (runs, images, 1), "runs": (1, images, 1)}[alike]

    def given(shape: tuple[int, ...]) -> Ints:
        if by_share:
            return rng.choice(classes, shape, p=shares)
        other = (labels[:, None] + rng.integers(1, classes, shape)) % classes
        return np.where(rng.random(shape) < planted, 1, other)

    said = np.where(rng.random(shape) < wrong, given(shape), labels[:, None])
    said = np.broadcast_to(said, (runs, images, draws)).copy()
    untouched = np.broadcast_to(labels, (runs, images)).copy()
    if clean != "none":
        errors = rng.random(images) < clean_share
        towards = given((1, images, 1))[0, :, 0] if clean_to is None else np.full(images, clean_to)
        untouched[:, errors] = towards[errors]
        if clean == "persisting":
            said[:, errors] = towards[errors, None]
    return Answers(labels, untouched, said, classes)


def wrong_shares(labels: Ints, said: Ints, classes: int) -> Array:
    """(R, M, draws) → (R, K)."""
    wrong = [each[each != labels[:, None]] for each in said]
    return np.stack([np.bincount(each, minlength=classes) for each in wrong]) / (said.shape[1] * said.shape[2])


def p_before(study: Answers, observed: float, draws: int) -> float:
    """What is wrong beyond the clean errors is spread at random among as many images."""
    now = wrong_shares(study.labels, study.said, study.classes)
    before = wrong_shares(study.labels, study.clean[..., None], study.classes)
    rng, images = np.random.default_rng(0), study.said.shape[1]
    simulated = np.zeros((draws, *now.shape))
    for run, said in enumerate(study.said):
        which = np.broadcast_to(study.labels[:, None], said.shape)[said != study.labels[:, None]]
        missed = study.labels[study.clean[run] != study.labels]
        gained = np.bincount(which, minlength=study.classes) / said.size
        gained = np.maximum(gained - np.bincount(missed, minlength=study.classes) / images, 0)
        total = gained.sum()
        if total <= 0:
            continue
        expected = before[run] + max(0.0, now[run].sum() - before[run].sum()) * (total - gained) / (
            total * (study.classes - 1)
        )
        simulated[:, run] = rng.multinomial(round(images * now[run].sum()), expected / expected.sum(), draws) / images
    found = np.array([index(increases(each, before)).value or 0.0 for each in simulated])
    return float((1 + (found >= observed).sum()) / (1 + draws))


def p_after(study: Answers, before: Array, observed: float, draws: int) -> float:
    runs, images, count = study.said.shape
    run, image, _ = np.indices(study.said.shape)
    wrong = study.said != study.labels[:, None]
    keys, counts = np.unique((run * images + image)[wrong] * study.classes + study.said[wrong], return_counts=True)
    kept = np.sort(np.concatenate([study.labels[None], study.clean]).T, 1)
    kept[:, 1:][kept[:, 1:] == kept[:, :-1]] = study.classes
    where = keys // study.classes
    given = WrongAnswers(where % images, where // images, keys % study.classes, counts / (images * count), kept)
    shares = unequal_shares(np.bincount(study.clean.ravel(), minlength=study.classes) / runs)
    nulls = [None] if shares is None else [None, shares]
    return max(renamed_at_random(given, before, observed, draws, 0, each).p_value for each in nulls)


UNEQUAL = (0.6, 0.2, 0.1, 0.05, 0.05)
NULLS: dict[str, dict[str, Any]] = {
    "one draw": {"draws": 1},
    "five draws, each anew": {},
    "five draws alike": {"alike": "draws"},
    "ten draws alike, 100 classes": {"alike": "draws", "draws": 10, "classes": 100},
    "clean errors persist": {"clean": "persisting", "alike": "draws"},
    "clean errors are others": {"clean": "others"},
    "clean errors to one class, which persist": {"clean": "persisting", "clean_to": 3},
    "clean errors to one class, which do not": {"clean": "others", "clean_to": 3, "alike": "draws"},
    "the same, of 30 % of the images": {
        "clean": "others",
        "clean_share": 0.3,
        "clean_to": 3,
        "alike": "draws",
        "wrong": 0.4,
    },
    "clean errors to one class, 30 %, and 20 % of others": {
        "clean": "others",
        "clean_share": 0.3,
        "clean_to": 3,
        "alike": "draws",
        "wrong": 0.2,
    },
    "five runs, errors of their own": {"runs": 5, "alike": "draws", "images": 150},
    "five runs with the same errors": {"runs": 5, "alike": "runs", "images": 150},
    "unequal classes": {"classes": 5, "shares": UNEQUAL, "alike": "draws"},
    "unequal classes, answers by their shares": {"classes": 5, "shares": UNEQUAL, "by_share": True},
}
PLANTED: dict[str, dict[str, Any]] = {
    "15 % of errors to one class, one draw": {"draws": 1, "planted": 0.15},
    "15 %, five draws, each anew": {"planted": 0.15},
    "15 %, five draws alike": {"planted": 0.15, "alike": "draws"},
    "8 %, five draws, each anew": {"planted": 0.08},
    "15 %, clean errors are others": {"planted": 0.15, "clean": "others"},
    "30 %, five runs with the same errors, 150 images": {
        "planted": 0.3,
        "runs": 5,
        "alike": "runs",
        "images": 150,
    },
}


def interference_table(studies: int) -> None:
    print("| | p ≤ 0.05 before | after |")
    print("| --- | ---: | ---: |")
    for cases in (NULLS, PLANTED):
        for name, options in cases.items():
            rng, found = np.random.default_rng(len(name)), []
            for _ in range(studies):
                study = answers(rng, **options)
                before = wrong_shares(study.labels, study.clean[..., None], study.classes)
                value = index(increases(wrong_shares(study.labels, study.said, study.classes), before)).value or 0.0
                found.append((p_before(study, value, 199), p_after(study, before, value, 199)))
            shares = (np.array(found) <= 0.05).mean(0)
            kind = "nothing gathers" if cases is NULLS else "**gathers**"
            print(f"| {kind}: {name} | {shares[0]:.2f} | {shares[1]:.2f} |", flush=True)


# Accuracy on the line


def line_table(studies: int) -> None:
    print("| | models | before | after |")
    print("| --- | ---: | ---: | ---: |")
    for models in (6, 20, 50):
        rng = np.random.default_rng(models)
        named = np.zeros((10 * studies, 2), bool)
        for study in range(len(named)):
            x = rng.uniform(0.5, 0.9, models)
            y = 0.8 * x + 0.02 * rng.normal(size=models)
            for place, confidence in enumerate((CONFIDENCE, simultaneous(CONFIDENCE, models))):
                found = gains(x, y, np.ones(models, bool), confidence)
                named[study, place] = ((found.low > 0) | (found.high < 0)).any()
        shares = named.mean(0)
        print(f"| some model on the line is named off it | {models} | {shares[0]:.2f} | {shares[1]:.2f} |", flush=True)
    for models in (6, 20):
        rng = np.random.default_rng(models)
        found = np.array([equal_models(rng, models) for _ in range(10 * studies)]) < 0.05
        shares = found.mean(0)
        about = "equal models whose accuracies correlate, p < 0.05: ID on the same 500 images, and on others"
        print(f"| {about} | {models} | {shares[0]:.2f} | {shares[1]:.2f} |", flush=True)


def equal_models(rng: np.random.Generator, models: int, images: int = 500) -> tuple[float, float]:
    """p-values of the line of models that are all right with probability 0.8, and 0.6 under the shift: with accuracy
    without the shift of the same images, and of others. Of one image in four a model says the same with and without."""
    clean, other = (rng.random((2, models, images)) < 0.8).astype(np.float64)
    shifted = np.where(rng.random(clean.shape) < 0.25, clean, rng.random(clean.shape) < 0.6)
    y = shifted.mean(1)
    p_values = [line(each.mean(1), y).p_value for each in (clean, other)]
    return tuple(1.0 if each is None else each for each in p_values)  # type: ignore[return-value]


TABLES: dict[str, Callable[[int], None]] = {
    "consistency": consistency_table,
    "interference": interference_table,
    "line": line_table,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--studies", type=int, default=300)
    given = parser.parse_args()
    for name in given.tables or TABLES:
        print(f"\n### {name.capitalize()}\n")
        TABLES[name](given.studies)


if __name__ == "__main__":
    main()
