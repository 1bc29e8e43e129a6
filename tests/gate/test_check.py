"""The gate: a planted drop fails, few images are said to be too few, and what can't be compared is refused."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import torch

import brittle
from brittle.cases import NamedCase, write_cases
from brittle.errors import BrittleError
from brittle.nuisances import transformed

pytestmark = pytest.mark.warned("matched by number", "near chance", "mean confidence")
STUDY = """
seed = {seed}
nuisances = ["{nuisance}"]
[classifiers]
mine = "bundled:{weights}"
[images.sample]
spec = "sample"
count = {count}
[robustness]
samples = {samples}
estimand = "{estimand}"
"""


def study(folder, name, **values):
    asked = {"seed": 0, "nuisance": "rotation:sigma=15", "weights": "augmented", "count": 200, "samples": 4}
    path = folder / f"{name}.toml"
    path.write_text(STUDY.format(**{**asked, "estimand": "population", **values}))
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("gate")


@pytest.fixture(scope="module")
def baseline(home):
    brittle.run(study(home, "baseline"), out=home / "baseline", progress=False)
    return home / "baseline"


@pytest.fixture(scope="module")
def failed(home, baseline):
    """The plain classifier has never seen a rotation: ρ and accuracy are about 0.15 lower."""
    return brittle.check(study(home, "worse", weights="plain"), against=baseline, out=home / "worse", progress=False)


def test_a_planted_drop_fails_with_exit_status_3(failed):
    assert (failed.state, failed.exit_status) == ("failed", 3)
    assert {change.number for change in failed.in_state("failed")} == {"rho", "accuracy"}
    assert all(change.difference.high < -0.01 for change in failed.changes)


def test_differences_are_those_of_one_run_with_both_classifiers(failed):
    together = brittle.measure(
        {"new": "bundled:plain", "old": "bundled:augmented"},
        "sample",
        "rotation:sigma=15",
        samples=4,
        count=200,
        progress=False,
    )
    (pair,) = together["comparisons"]
    found = {change.number: change.difference for change in failed.changes}
    assert found["rho"].value == pytest.approx(pair["rho_difference"], abs=1e-7)
    assert found["accuracy"].value == pytest.approx(pair["accuracy_nuisance_difference"], abs=1e-12)


def test_new_weak_points_are_pictures_that_only_the_new_classifier_gets_wrong(failed):
    worst = failed.failures[0]
    space = brittle.nuisance("rotation:sigma=15")
    images = brittle.image_set("sample")
    place = int((images.ids == worst.of.image).nonzero()[0])
    theta = torch.tensor([[worst.theta["angle"]]])
    batch = images.batch([place])
    label = int(images.labels[place])
    for name, right, p in (("augmented", True, worst.of.p_before), ("plain", False, worst.of.p_after)):
        shown = space.apply(batch, theta.float())
        log_p = brittle.classifier(f"bundled:{name}").log_probs(shown)[0]
        assert (int(log_p.argmax()) == label) == right
        assert float(log_p[label].exp()) == pytest.approx(p, abs=1e-3)
    assert images.classes[label] == worst.label


def test_few_images_can_not_tell_and_say_how_many_would(home, baseline):
    asked = study(home, "few", weights="plain", count=20)
    found = brittle.check(asked, against=baseline, allow=0.14, progress=False)
    assert (found.state, found.exit_status) == ("unsure", 4)
    assert found.most_to_tell is None or found.most_to_tell > 20
    assert "can't be told yet" in str(found)
    for unsure, status in (("pass", 0), ("fail", 3)):
        again = brittle.check(asked, against=baseline, allow=0.14, unsure=unsure, progress=False)
        assert (again.state, again.exit_status) == ("unsure", status)


def test_the_same_classifier_passes_whatever_is_allowed(home, baseline):
    found = brittle.check(study(home, "same"), against=baseline, allow=0.0, progress=False)
    assert (found.state, found.exit_status) == ("passed", 0)
    assert found.comparison.family == 0


def test_a_better_classifier_passes(home, failed):
    found = brittle.check(study(home, "better"), against=home / "worse", progress=False)
    assert (found.state, found.exit_status) == ("passed", 0)
    assert not found.comparison.not_compared


@pytest.mark.parametrize("estimand", ["set", "drawn"])
def test_every_estimand_is_compared_with_its_own_interval(home, estimand):
    count = {"set": 1000, "drawn": 200}[estimand]
    for name, weights in (("old", "augmented"), ("new", "plain")):
        text = study(home, f"{estimand}-{name}", weights=weights, estimand=estimand, count=count, samples=3)
        brittle.run(text, out=home / f"{estimand}-{name}", progress=False)
    found = brittle.check(home / f"{estimand}-new", against=home / f"{estimand}-old", progress=False)
    assert found.state == "failed"
    assert {change.design.estimand for change in found.changes} == {estimand}


REFUSED = {
    "seed": ({"seed": 1}, "their seeds differ"),
    "nuisance": ({"nuisance": "rotation=rotation:sigma=10"}, "no result of one measure"),
    "estimand": ({"estimand": "drawn"}, "the estimand of 'robustness' is drawn in one and population in the other"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_runs_of_other_theta_are_refused_in_one_line(home, baseline, what):
    values, said = REFUSED[what]
    with pytest.raises(BrittleError) as caught:
        brittle.check(study(home, f"other-{what}", count=20, samples=1, **values), against=baseline, progress=False)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_nuisance_of_one_name_and_another_meaning_is_refused(home):
    for name, sigma in (("named-old", 15), ("named-new", 10)):
        text = study(home, name, nuisance=f"turned=rotation:sigma={sigma}", count=10, samples=1)
        brittle.run(text, out=home / name, progress=False)
    with pytest.raises(BrittleError, match="'turned' is rotation:sigma=10 in one and rotation:sigma=15 in the other"):
        brittle.check(home / "named-new", against=home / "named-old", progress=False)


@pytest.mark.parametrize("what", ["pixels", "labels"])
def test_other_images_under_one_name_are_refused(tmp_path, what):
    """The same ids and spec: only what the images are differs."""
    for name, changed in (("old", False), ("new", True)):
        images, labels = np.zeros((30, 28, 28), np.uint8), np.arange(30) % 10
        if changed:
            images, labels = (images + 9, labels) if what == "pixels" else (images, labels[::-1].copy())
        things = {"mine": "bundled:plain"}, {"grey": brittle.image_set((images, labels))}, "rotation:sigma=15"
        few = brittle.measures.Robustness(samples=1)
        brittle.run(*things, measures=[few], out=tmp_path / name, progress=False)
    with pytest.raises(BrittleError, match="'grey' holds other images or labels in one than in the other"):
        brittle.check(tmp_path / "new", against=tmp_path / "old", progress=False)


def test_a_nuisance_whose_code_has_changed_is_refused(home):
    code = home / "dim.py"
    for name, factor in (("code-old", 0.9), ("code-new", 0.8)):
        code.write_text(f"def dim(images, generator=None):\n    return images * {factor}\n")
        text = study(home, name, nuisance=f"dim=function:{code}:dim", count=10, samples=1)
        brittle.run(text, out=home / name, progress=False)
    with pytest.raises(BrittleError, match="or its code, has changed"):
        brittle.check(home / "code-new", against=home / "code-old", progress=False)


def test_conditions_hold_for_every_number_that_they_name(home, failed):
    asked = {"rho>=0.5": True, "rho.low >= 0.9": False, "mine.accuracy_nuisance.high<1": True, "flip_rate<0": False}
    found = brittle.check(home / "worse", require=list(asked), progress=False)
    assert {each.condition: each.holds for each in found.numbers} == asked
    assert found.exit_status == 3
    assert brittle.check(home / "worse", require="rho>=0.5", progress=False).exit_status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rhoo>=0.5", "Did you mean 'rho'"),
        ("rho", "not a condition"),
        ("rho>=high", "not a condition"),
        ("rho>=nan", "not a condition"),
        ("rho=>0.5", "no number called 'rho='. Did you mean 'rho'"),
    ],
)
def test_a_condition_that_is_misspelt_is_refused(home, failed, text, said):
    with pytest.raises(BrittleError) as caught:
        brittle.check(home / "worse", require=text, progress=False)
    assert said in str(caught.value)


def test_another_seed_is_refused_before_the_study_is_carried_out(home, baseline, tmp_path):
    with pytest.raises(BrittleError, match="their seeds differ"):
        brittle.check(study(home, "early", seed=2), against=baseline, out=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


def test_nothing_to_check_is_refused_before_any_work(home):
    with pytest.raises(BrittleError, match="nothing to check"):
        brittle.check(study(home, "nothing"), progress=False)


def test_named_cases_are_made_again_and_shown(home, failed):
    worst = failed.failures[0].of
    drawn = {"images": "sample", "image": worst.image, "nuisance": "rotation:sigma=15", "draw": worst.draw, "seed": 0}
    label, said = failed.failures[0].label, failed.failures[0].predicted
    cases = home / "cases.toml"
    write_cases(cases, [NamedCase("right", expected=said, **drawn), NamedCase("wrong", expected=label, **drawn)])
    found = brittle.check(home / "worse", cases=cases, progress=False)
    assert {each.name: each.right for each in found.cases} == {"right": True, "wrong": False}
    assert found.cases[1].probability == pytest.approx(worst.p_after, abs=1e-3)
    assert found.exit_status == 3


def test_a_case_at_theta_is_the_picture_at_that_theta(home, failed):
    turned = [
        NamedCase(f"by {angle}", "sample", 3, "rotation:sigma=15", "T-shirt/top", theta=(angle,), severity=severity)
        for angle, severity in ((20.0, None), (40.0, 0.5))
    ]
    write_cases(home / "turned.toml", turned)
    first, second = brittle.check(home / "worse", cases=home / "turned.toml", progress=False).cases
    images, space = brittle.image_set("sample"), brittle.nuisance("rotation:sigma=15")
    batch = images.batch([int((images.ids == 3).nonzero()[0])])
    shown = space.apply(batch, torch.tensor([[20.0]]))
    p = brittle.classifier("bundled:plain").log_probs(shown)[0].exp()
    assert first.probability == pytest.approx(float(p[0]), abs=1e-4)
    halfway = transformed(space, batch, torch.tensor([[40.0]]), 0.5)
    p = brittle.classifier("bundled:plain").log_probs(halfway)[0].exp()
    assert second.probability == pytest.approx(float(p[0]), abs=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"images": "sampel"}, "the study has no image set 'sampel'. Did you mean 'sample'?"),
        ({"nuisance": "fog"}, "the study has no nuisance 'fog'"),
        ({"expected": "Boot"}, "mine has no class 'Boot'"),
        ({"image": 10**6}, "has no image 1000000"),
        ({"theta": (1.0, 2.0)}, "theta has 2 numbers, and that of 'rotation:sigma=15' has 1"),
        ({"spec": "rotation:sigma=10"}, "was rotation:sigma=10 when it was saved"),
        ({"theta": None, "draw": 1, "seed": 7}, "it is of seed 7, and the study's is 0"),
    ],
)
def test_a_case_of_another_study_is_refused(home, failed, change, said):
    values = {"images": "sample", "image": 3, "nuisance": "rotation:sigma=15", "expected": "Bag", "theta": (0.1,)}
    write_cases(home / "odd.toml", [NamedCase("odd", **{**values, **change})])
    with pytest.raises(BrittleError) as caught:
        brittle.check(home / "worse", cases=home / "odd.toml", progress=False)
    assert said in str(caught.value)
    assert "'odd'" in str(caught.value)


def test_the_command_writes_junit_markdown_and_annotations(home, baseline, failed, cli, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(home / "step.md"))
    said = cli("check", home / "worse", "--against", baseline, "--junit", home / "j.xml", "--markdown", home / "m.md",
               "--require", "rho>=0.1")  # fmt: skip
    assert said.status == 3
    suite = ElementTree.parse(home / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    assert [case[0].tag for case in suite if len(case)] == ["failure", "failure"]
    assert (home / "m.md").read_text() == (home / "step.md").read_text()
    assert "| failed |" in (home / "m.md").read_text()
    lines = [line for line in said.out.splitlines() if line.startswith("::")]
    assert lines[0].startswith("::error title=Robustness%3A failed::")
    assert all("%" not in line.replace("%25", "").replace("%3A", "").replace("%2C", "") for line in lines)


def test_json_is_one_object_and_annotations_go_elsewhere(home, baseline, failed, cli):
    said = cli("check", home / "worse", "--against", baseline, "--json", "--annotations", "yes")
    assert said.status == 3
    found = json.loads(said.out)
    assert (found["state"], found["exit_status"], found["family"]) == ("failed", 3, 2)
    assert {change["state"] for change in found["changes"]} == {"failed"}
    assert said.err.count("::error") == 3


def test_a_baseline_that_is_no_run_is_refused_before_the_study_is_carried_out(home, cli, tmp_path):
    said = cli("check", study(home, "unrun"), "--against", tmp_path, "--out", tmp_path / "out")
    assert "is not a run folder" in said.complaint(2)
    assert not (tmp_path / "out").exists()


def test_a_run_whose_rows_are_gone_is_refused(home, baseline, failed, tmp_path):
    shutil.copytree(home / "worse", tmp_path / "broken")
    shutil.rmtree(tmp_path / "broken" / "units" / "robustness")
    with pytest.raises(BrittleError, match="rows of robustness · mine · sample · rotation:sigma=15 are missing"):
        brittle.check(tmp_path / "broken", against=baseline, progress=False)


def test_all_right_and_all_wrong_with_twenty_images(tmp_path: Path):
    """Interval ends at which nothing varies have room: twenty equal answers prove nothing about 0.01."""
    images, labels = np.zeros((20, 8, 8), np.uint8), np.zeros(20, np.int64)

    def always(label):
        return lambda batch: torch.nn.functional.one_hot(torch.full((len(batch),), label), 3).float() * 20

    for name, label in (("right", 0), ("wrong", 1)):
        things = {"it": always(label)}, {"grey": brittle.image_set((images, labels))}, "rotation:sigma=15"
        few = brittle.measures.Robustness(samples=2)
        brittle.run(*things, measures=[few], out=tmp_path / name, progress=False)
    fell = brittle.check(tmp_path / "wrong", against=tmp_path / "right", progress=False)
    assert fell.state == "failed"
    rose = brittle.check(tmp_path / "right", against=tmp_path / "wrong", progress=False)
    assert rose.state == "passed"


def test_live_objects_are_judged_as_their_specs_are(home, baseline):
    module = brittle.classifier("bundled:plain").module
    found = brittle.measure({"mine": module}, "sample", "rotation:sigma=15", samples=4, count=200, progress=False)
    judged = brittle.check(found, against=baseline, require="rho>=0.9")
    assert (judged.state, judged.comparison.family, [each.holds for each in judged.numbers]) == ("failed", 2, [False])


def test_images_without_labels_are_compared_by_rho_alone(tmp_path):
    images = brittle.image_set("sample").batch(range(60)).images.numpy()
    nothing = brittle.image_set(images)
    runs = {}
    for name in ("augmented", "plain"):
        runs[name] = brittle.measure(
            {"it": f"bundled:{name}"}, nothing, "rotation:sigma=15", samples=3, out=tmp_path / name, progress=False
        )
    found = brittle.check(runs["plain"], against=tmp_path / "augmented")
    assert {each.number for each in found.changes} == {"rho"}
    with pytest.raises(BrittleError, match="have no labels"):
        brittle.check(runs["plain"], against=tmp_path / "augmented", on=["accuracy"])


def test_a_run_that_stopped_at_a_tolerance_is_read_up_to_there(tmp_path):
    asked = {"samples": 3, "tolerance": 0.08, "count": 600, "progress": False}
    for name in ("augmented", "plain"):
        brittle.measure({"it": f"bundled:{name}"}, "sample", "rotation:sigma=15", out=tmp_path / name, **asked)
    found = brittle.check(tmp_path / "plain", against=tmp_path / "augmented", allow=0.05)
    (images,) = {each.images for each in found.changes}
    assert images < 600
    assert {each.design.planned for each in found.changes} == {None}


def test_a_whole_image_set_is_planned_and_a_part_of_it_is_not(home, failed, tmp_path):
    assert {each.design.planned for each in failed.changes} == {None}
    for name in ("augmented", "plain"):
        brittle.measure(
            {"it": f"bundled:{name}"}, "sample", "rotation:sigma=15", samples=1, out=tmp_path / name, progress=False
        )
    found = brittle.check(tmp_path / "plain", against=tmp_path / "augmented")
    assert {each.design.planned for each in found.changes} == {1000}


def test_the_workflow_of_the_documentation_is_yaml_whose_commands_have_these_options(cli):
    yaml = pytest.importorskip("yaml")
    page = (Path(brittle.__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    (written,) = (part.split("```")[0] for part in page.split("```yaml\n")[1:])
    steps = yaml.safe_load(written)["jobs"]["gate"]["steps"]
    (command,) = (step["run"] for step in steps if "brittle check" in step.get("run", ""))
    known = cli("check", "--help").out
    assert all(word in known for word in command.split() if word.startswith("--"))
