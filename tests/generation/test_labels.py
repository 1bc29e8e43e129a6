"""Labels of people: the file that survives a kill, the rule, the queue, and who agrees with whom."""

import itertools
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import brittle
from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.generation.labels.agreement import agreements
from brittle.generation.labels.queue import KEPT, Queue, in_order
from brittle.generation.labels.rule import described, verdict, verdicts
from brittle.generation.labels.store import ImageLabel, LabelFile, Labeller, read_labeller, read_labels, write_labels
from brittle.generation.labels.summary import summary_of
from brittle.generation.stored import drawn, stored_images
from brittle.images.scales.cns import cns_files

WRITER = """
import sys
from pathlib import Path
from brittle.generation.labels.store import ImageLabel, LabelFile
file = LabelFile(Path(sys.argv[1]), "anna")
for number in range(1_000_000):
    file.add(ImageLabel(f"image-{number}", "class", number % 2 == 0))
    print(number, flush=True)
"""


@pytest.fixture
def files(benchmark):
    return cns_files(ContainedFiles(benchmark))[0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        *((each, "out of class") for each in (["not"], ["not", "class"], ["partly", "not"], ["not", "not"])),
        *((each, "in class") for each in (["class"], ["class", "partly"], ["partly", "class"], ["class", "class"])),
        *((each, "partly") for each in (["partly"], ["partly", "partly"])),
    ],
)
def test_several_labels_of_an_image_say_together_what_the_paper_says(labels, expected):
    assert verdict(labels) == expected


def test_every_answer_that_was_given_survives_a_kill(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    given = [process.stdout.readline() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    given += process.stdout.read().splitlines()
    process.wait()
    last = int(given[-1])
    found = read_labeller(tmp_path / "anna.jsonl")
    assert set(found.answers) >= {f"image-{number}" for number in range(last + 1)}
    assert len(found.answers) <= last + 2
    assert found.answers["image-1"] == ImageLabel("image-1", "class", False)


def test_half_a_line_is_dropped_and_the_next_answer_stands_on_a_line_of_its_own(tmp_path):
    first = LabelFile(tmp_path, "anna")
    first.add(ImageLabel("one", "class"))
    first.close()
    with (tmp_path / "anna.jsonl").open("a") as file:
        file.write('{"image": "two", "lab')
    assert list(read_labeller(tmp_path / "anna.jsonl").answers) == ["one"]
    again = LabelFile(tmp_path, "anna")
    again.add(ImageLabel("three", "not"))
    again.close()
    assert list(read_labeller(tmp_path / "anna.jsonl").answers) == ["one", "three"]
    assert all(json.loads(line) for line in (tmp_path / "anna.jsonl").read_text().splitlines())


def test_a_full_disk_leaves_whole_lines_alone(tmp_path, monkeypatch):
    file = LabelFile(tmp_path, "anna")
    file.add(ImageLabel("one", "class"))
    monkeypatch.setattr("brittle.generation.labels.store._write_all", _failing)
    with pytest.raises(BrittleError, match="the disk is full"):
        file.add(ImageLabel("two", "class"))
    monkeypatch.undo()
    file.add(ImageLabel("three", "class"))
    file.close()
    assert list(read_labeller(tmp_path / "anna.jsonl").answers) == ["one", "three"]


def _failing(descriptor, content):
    os.pwrite(descriptor, content[:5], os.fstat(descriptor).st_size)
    raise OSError(28, "No space left on device")


def test_a_later_answer_replaces_an_earlier_one(tmp_path):
    file = LabelFile(tmp_path, "anna")
    for label in ("class", "not"):
        file.add(ImageLabel("one", label))
    file.close()
    assert read_labeller(tmp_path / "anna.jsonl").answers == {"one": ImageLabel("one", "not")}


def test_mistakes_are_one_line(tmp_path):
    for name in ("", "a/b", "..", "a b", "x" * 41):
        with pytest.raises(BrittleError, match="can't be a person's name"):
            LabelFile(tmp_path, name)
    file = LabelFile(tmp_path, "anna")
    with pytest.raises(BrittleError, match="in use by another process"):
        LabelFile(tmp_path, "anna")
    file.close()
    write_labels(tmp_path / "machine.jsonl", "bundled:plain", [ImageLabel("one", "class")])
    with pytest.raises(BrittleError, match="holds labels of a proxy"):
        LabelFile(tmp_path, "machine")
    with pytest.raises(BrittleError, match="of people and of proxies"):
        read_labels(tmp_path)
    (tmp_path / "machine.jsonl").write_text('{"person": "x"}\n{"image": "one", "label": "perhaps"}\n')
    with pytest.raises(BrittleError, match="does not hold labels: see line 2"):
        read_labels(tmp_path)


def test_a_class_opens_with_its_example_and_scale_0_comes_once(files):
    items = in_order(files, examples=[1])
    names = [(each.label, each.is_example) for each in items]
    assert names[0] == (1, True)
    assert (4, True) not in names
    assert [each.label for each in items] == sorted(each.label for each in items)
    assert sum(each.scale == 0 and not each.is_example for each in items) == len(CLASSES) * len(SEEDS)
    assert len(items) == 1 + len(CLASSES) * len(SEEDS) * (1 + len(SHIFTS) * (len(SCALES) - 1))
    for _, path in itertools.groupby(items[1:], lambda each: (each.label, each.shift)):
        scales = [each.scale for each in path if each.shift]
        assert scales == sorted(scales[: len(SCALES) - 1]) * (len(scales) // (len(SCALES) - 1))


def all_shown(queue, answered, people):
    """Everybody labels in turn until nothing is left."""
    shown = {person: [] for person in people}
    going = list(people)
    while going:
        for person in list(going):
            item = queue.next(person)
            if item is None:
                going.remove(person)
                continue
            shown[person].append(item.image)
            answered[person].add(item.image)
    return shown


@pytest.mark.parametrize(("people", "each"), [(1, 1), (2, 2), (3, 2), (5, 2)])
def test_every_image_is_seen_by_as_many_people_as_are_wanted(files, people, each):
    names = [f"person{number}" for number in range(people)]
    answered = {name: set() for name in names}
    items = in_order(files, examples=[1, 4])
    shown = all_shown(Queue(items, each, answered), answered, names)
    for item in items:
        seen = sum(item.image in images for images in shown.values())
        assert seen == each or item.is_example
    assert all(len(images) == len(set(images)) for images in shown.values())


def test_an_image_is_kept_for_whoever_looks_at_it_but_not_for_ever(files):
    now = [0.0]
    answered = {"anna": set(), "ben": set()}
    queue = Queue(in_order(files, []), 1, answered, clock=lambda: now[0])
    first = queue.next("anna")
    assert queue.next("anna") == first  # the page was loaded again
    assert queue.next("ben") != first
    now[0] = KEPT + 1
    assert queue.next("ben") == first


def test_whoever_comes_back_goes_on_where_they_stopped(files, tmp_path):
    items = in_order(files, [1])
    order = []
    for _ in range(3):
        file = LabelFile(tmp_path, "anna")
        queue = Queue(items, 2, {"anna": set(file.labeller.answers)})
        for _ in range(4):
            item = queue.next("anna")
            order.append(item.image)
            file.add(ImageLabel(item.image, "class"))
            queue = Queue(items, 2, {"anna": set(file.labeller.answers)})
        file.close()
    assert order == [each.image for each in items[:12]]


def people_saying(generator, images):
    """Two people who mostly say the same."""
    words = np.array(["class", "partly", "not"])
    first = generator.integers(0, 3, len(images))
    second = np.where(generator.random(len(images)) < 0.7, first, generator.integers(0, 3, len(images)))
    return [
        Labeller(
            name, answers={image: ImageLabel(image, str(words[said])) for image, said in zip(images, each, strict=True)}
        )
        for name, each in (("anna", first), ("ben", second))
    ]


def test_agreement_is_cohens_kappa_of_not_class(files):
    images = [each.file for each in files]
    people = people_saying(np.random.default_rng(0), images)
    (found,) = agreements(people, {each.file: each.key for each in files}, 0.95, 0)
    said = [[who.answers[image].label for image in images] for who in people]
    assert found.images == len(images)
    assert found.same.value == pytest.approx(np.mean(np.array(said[0]) == np.array(said[1])))
    expected = cohen_kappa_score(*([label == "not" for label in each] for each in said))
    assert found.kappa.value == pytest.approx(expected)
    assert found.kappa.low < expected < found.kappa.high


def test_the_summary_counts_by_scale_and_gives_an_exact_interval(files):
    images = [each.file for each in files]
    people = people_saying(np.random.default_rng(1), images)
    for who in people:
        who.answers["example:1"] = ImageLabel("example:1", "class")
        who.answers["elsewhere.jpg"] = ImageLabel("elsewhere.jpg", "not")
    found = summary_of(people, files)
    said = verdicts(people)
    wrong = sum(said[image] == "out of class" for image in images)
    exact = stats.binomtest(wrong, len(images)).proportion_ci(method="exact")
    assert (found.out_of_class.low, found.out_of_class.high) == pytest.approx((exact.low, exact.high))
    assert found.standard_error == pytest.approx((wrong / len(images) * (1 - wrong / len(images)) / len(images)) ** 0.5)
    assert found.images == found.by_two == len(images)
    assert [each.scale for each in found.scales] == list(SCALES)
    assert sum(sum(each.verdicts.values()) for each in found.scales) == len(images)
    assert [(each.recognised, each.examples) for each in found.examples] == [(1, 1), (1, 1)]
    assert found.whose == "2 people"


def test_the_share_that_sees_the_shift_is_one_of_answers(files):
    images = [each.file for each in files if each.scale == 2.5]
    answers = {image: ImageLabel(image, "class", number % 4 != 0) for number, image in enumerate(images)}
    (found,) = summary_of([Labeller("anna", answers=answers)], files).scales
    assert found.shift_visible.value == pytest.approx(0.75)
    assert found.shift_visible.low < 0.75 < found.shift_visible.high


def test_a_proxy_is_never_called_people():
    proxies = [Labeller("proxy-0", "bundled:plain"), Labeller("proxy-1", "bundled:augmented")]
    assert described(proxies) == "a proxy (bundled:plain, bundled:augmented), not people"
    assert described([Labeller("anna")]) == "1 person"


def test_a_random_sample_depends_on_names_alone(benchmark):
    images = stored_images(str(benchmark))
    chosen = drawn(images, 10, 0)
    assert len(chosen) == 10
    assert chosen.files == drawn(images, 10, 0).files != drawn(images, 10, 1).files
    assert {each.file for each in chosen.files} < {each.file for each in drawn(images, 11, 0).files}


def test_python_and_the_command_say_the_same(benchmark, files, tmp_path, cli):
    file = LabelFile(tmp_path / "labels", "anna")
    for number, each in enumerate(files[:10]):
        file.add(ImageLabel(each.file, ("class", "not")[number % 2], True if each.scale else None))
    file.close()
    found = brittle.labels_of(benchmark, tmp_path / "labels")
    assert found.out_of_class.value == 0.5
    said = cli("label", benchmark, "--out", tmp_path / "labels", "--summary", "--json")
    assert said.json == json.loads(json.dumps(found.values))
    assert "Labels of 1 person: 10 images" in cli("label", benchmark, "--out", tmp_path / "labels", "--summary").out


def test_a_person_who_has_labelled_nothing_yet_gives_no_numbers(benchmark, tmp_path, cli):
    LabelFile(tmp_path / "labels", "anna").close()
    said = cli("label", benchmark, "--out", tmp_path / "labels", "--summary")
    assert said.out.strip() == "Labels of 1 person: none yet."
