"""Who decided about images: classifiers by their clean predictions, people and other models by their decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.images.cue_conflict import SHAPE_IMAGE, TEXTURE, TEXTURE_IMAGE
from brittle.measures.arrays import Array
from brittle.measures.base import ON_IMAGES, About, Derived, ImageSetFacts, MeasureInputs, RunView
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import clean_columns
from brittle.measures.decisions import COLUMNS, Decisions, decisions_by_image, is_person, merged

SHARED = (SHAPE_IMAGE, TEXTURE_IMAGE)  # columns
MACHINE, PERSON, MODEL = "classifier", "person", "model"
NUMBERS = {"session": pa.int32(), "trial": pa.int32(), "rt": pa.float64()}
SCHEMA = pa.schema([(column, NUMBERS.get(column, pa.string())) for column in COLUMNS])


class Decider(NamedTuple):
    """What somebody said of n images, as 0 and 1."""

    name: str
    sort: str  # classifier, person, or a model of which only decisions are given
    seen: Array  # (n,)
    right: Array  # (n,) said the label, which is the shape of cue-conflict stimuli
    texture: Array  # (n,) said the texture; 0 everywhere where images have none


def textures(subject: ImageSetFacts) -> NDArray[np.int64]:
    """(n,) the class of each image's texture; −1 where it has none."""
    if TEXTURE not in subject.columns:
        return np.full(len(subject), -1)
    number = {name: label for label, name in enumerate(subject.classes)}
    return np.array([number.get(str(name), -1) for name in subject.columns[TEXTURE]], np.int64)


def factors(subject: ImageSetFacts) -> list[NDArray[np.str_]]:
    """What images share: the image that their shape is from, and that their texture is from."""
    names = [name for name in SHARED if name in subject.columns]
    return [np.array([str(each) for each in subject.columns[name]]) for name in names]


def classifier_decider(run: RunView, name: str, images: str) -> Decider:
    subject = run.images[images]
    clean, here = clean_columns(run, name, images), textures(subject)
    said = (here >= 0) & (clean["predicted"] == _as_counted(here, run, name, images))
    right = (clean["rank"] == 0).astype(np.float64)
    return Decider(name, MACHINE, np.ones(len(subject)), right, said.astype(np.float64))


def _as_counted(labels: NDArray[np.int64], run: RunView, classifier: str, images: str) -> NDArray[np.int64]:
    """Labels (n,), also of classes that no chosen image has, as the classifier counts its classes: by name or by
    number, as it does with the images' own labels. −1 where it has no such class."""
    subject, facts = run.images[images], run.classifiers[classifier]
    own = dict(zip(subject.labels.tolist(), run.references(classifier, images).tolist(), strict=True))
    if not facts.named or any(facts.labels[there] != subject.class_name(label) for label, there in own.items()):
        return labels
    place = {name: number for number, name in enumerate(facts.labels)}
    return np.array([place.get(subject.class_name(label), -1) for label in labels.tolist()], np.int64)


def decisions_table(run: RunView, images: str) -> pa.Table:
    """The clean predictions of every classifier, in the columns of model-vs-human's files."""
    subject, count = run.images[images], len(run.images[images])
    parts = []
    for name, facts in run.classifiers.items():
        predicted = clean_columns(run, name, images)["predicted"]
        words = facts.with_class_names_of(subject).labels
        own = dict(zip(run.references(name, images).tolist(), subject.labels.tolist(), strict=True))
        values: dict[str, Sequence[object]] = {
            "subj": [name] * count,
            "session": [1] * count,
            "trial": range(1, count + 1),
            "rt": [None] * count,
            "object_response": [
                subject.class_name(own[said]) if said in own else words[said] for said in predicted.tolist()
            ],
            "category": [subject.class_name(int(label)) for label in subject.labels],
            "condition": [None] * count,
            "imagename": [name.rpartition("/")[2] for name in subject.names],
        }
        parts.append(pa.table({column: list(values[column]) for column in COLUMNS}, schema=SCHEMA))
    return pa.concat_tables(parts)


def recorded_deciders(subject: ImageSetFacts, decisions: Decisions, taken: Sequence[str]) -> list[Decider]:
    """Those whose decisions are about images of this set."""
    found = []
    for who, said in decisions.items():
        answers = decisions_by_image(said, subject.names)
        seen = np.array([answer is not None for answer in answers], np.float64)
        if not seen.any():
            continue
        labels = [subject.class_name(int(label)) for label in subject.labels]
        right = np.array([answer == label for answer, label in zip(answers, labels, strict=True)], np.float64)
        texture = np.zeros(len(subject))
        if TEXTURE in subject.columns:
            names = [str(name) for name in subject.columns[TEXTURE]]
            texture = np.array([answer == name for answer, name in zip(answers, names, strict=True)], np.float64)
        name = f"{who} (decisions)" if who in taken else who
        found.append(Decider(name, PERSON if is_person(who) else MODEL, seen, right, texture))
    return found


def decisions_about(subjects: Sequence[ImageSetFacts], files: Sequence[str]) -> Decisions:
    """What the files say, of images of the study."""
    decisions = merged(files)
    for who, said in decisions.items():
        if not any(answer is not None for subject in subjects for answer in decisions_by_image(said, subject.names)):
            raise BrittleError(
                f"none of the {len(said)} images that {who} decided about ({next(iter(said))}, …) is in the study",
                "Images are matched by their file names without folder and extension: give those of the same images.",
            )
    return decisions


class FromDecisions(Derived):
    """What a measure shares that is derived from clean predictions and the decisions of others. Whether an answer is
    right follows from labels alone."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)
    decisions: tuple[str, ...]

    def check(self, about: About, asked: MeasureInputs) -> None:
        decisions_about(list(asked.images.values()), self.decisions)
        about.refuse_unlabelled("whether an answer is right follows from the label")
