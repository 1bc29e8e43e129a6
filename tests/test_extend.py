"""`brittle.extend` is all that other packages need: files written with it alone are found, carried out and shown."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from third_package import FILES, install

import brittle
from brittle import extend
from brittle.classifiers import classifiers
from brittle.images import image_sets
from brittle.measures import measures
from brittle.nuisances import nuisances
from brittle.report.sections import sections

ROOT = Path(__file__).parents[1]
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
HOW_TO = (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8")
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
PAGES = CODE.findall(EXTENDING) + CODE.findall(HOW_TO.partition("## Write a nuisance")[2])
SHOWN = ("doubt", "doubt_section", "exposure", "greys", "grey_level")  # in the documentation, word by word
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in FILES} | {
    f"documentation {place}": text for place, text in enumerate(PAGES)
}
MEASURES = ("doubt", "breaking-severity", "group-difference", "accuracy-gap")
KINDS = {"exposure": nuisances, "grey-level": classifiers, "greys": image_sets} | dict.fromkeys(MEASURES, measures)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_what_others_write_imports_nothing_of_brittle_but_extend(source):
    found = {
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])
    }
    assert "brittle.extend" in found
    others = {name.partition(".")[0] for name in found - {"brittle.extend"}} - set(sys.stdlib_module_names)
    assert others <= {"torch", "numpy", "pyarrow"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_of_theirs_holds_one_kind(path):
    calls = [node for node in ast.walk(ast.parse(SOURCES[path.stem])) if isinstance(node, ast.Call)]
    assert sum(ast.unparse(call.func).startswith("register_") for call in calls) == 1


def test_every_name_exists():
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    for name in extend.blocks.__all__:
        assert getattr(extend.blocks, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = extend.nothing


def test_type_checkers_see_the_names_that_are_given():
    tree = ast.parse(Path(extend.__file__).read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (str(alias.asname).lstrip("_"), node.module, alias.name)
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {(name, *home) for name, home in extend._HOME_OF.items()}


def test_the_documentation_explains_every_name_and_no_other():
    listed = EXTENDING.partition("\n## Every name\n")[2].partition("\n## ")[0]
    explained = re.findall(r"`([A-Za-z_0-9]+)`", "".join(re.findall(r"^\| (.+?) \|", listed, re.MULTILINE)))
    assert sorted(explained) == extend.__all__


def test_names_of_options_and_commands_bring_no_torch():
    code = (
        "import sys\nfrom brittle.extend import BrittleError, Command, did_you_mean, option\n"
        "assert not {'torch', 'numpy', 'pyarrow'} & set(sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


def test_the_documentation_shows_files_that_are_tested():
    for name in SHOWN:
        assert SOURCES[name] in PAGES, name


def test_the_code_of_the_documentation_runs():
    said = subprocess.run([sys.executable, "-c", "\n".join(PAGES)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


@pytest.fixture
def installed(tmp_path, monkeypatch):
    install(tmp_path / "installed")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    for registry in (classifiers, image_sets, measures, nuisances, sections):
        monkeypatch.setattr(registry, "_kinds", dict(registry.loaded()))


def test_kinds_of_every_sort_are_listed(installed, cli):
    listed = cli("list", "--json").json
    assert KINDS.keys() <= {row["name"] for rows in listed.values() for row in rows}
    for name, registry in KINDS.items():
        assert registry.get(name).__module__.startswith("third_")


@pytest.mark.warned("has a mean confidence of")
def test_a_classifier_is_measured_on_images_under_a_nuisance_all_of_others(installed, tmp_path, cli):
    out = tmp_path / "run"
    asked = ("measure", "grey-level:sharpness=9", "greys:count=30", "--nuisance", "exposure:sigma=0.5", "--samples", 5)
    said = cli(*asked, "--out", out, "--json")
    rows = brittle.rows(out)
    assert rows.num_rows == 5 * 30
    grey = (rows["image"].to_numpy() + 0.5) / 30
    theta, label = rows["theta_exposure"].to_numpy(), rows["label"].to_numpy()
    assert 0.4 < theta.std() < 0.6
    seen = np.minimum(grey * 2**theta, 1)
    bright = 1 / (1 + np.exp(-9 * (seen - 0.5)))
    p = np.where(label == 1, bright, 1 - bright)
    np.testing.assert_allclose(np.exp(rows["log_p_label"].to_numpy()), p, atol=1e-5)
    assert said.json["rho"] == pytest.approx(p.mean(), abs=1e-6)
    page = (out / "report.html").read_text()
    assert "exposures with a standard deviation of 0.5 stops" in page


@pytest.mark.warned("has a mean confidence of")
def test_a_section_of_others_is_shown_wherever_results_are(installed, tmp_path, cli):
    sharp = {"blunt": 4, "keen": 20}
    study = {
        "classifiers": {name: f"grey-level:sharpness={value}" for name, value in sharp.items()},
        "images": {"grey": "greys:count=30"},
        "doubt": {},
    }
    found = brittle.run(study, out=tmp_path / "run", progress=False)
    bright = 1 / (1 + np.exp(-4 * ((np.arange(30) + 0.5) / 30 - 0.5)))
    entropy = float(np.mean(-bright * np.log(bright) - (1 - bright) * np.log1p(-bright)))
    assert found.of("doubt")["results"][0]["entropy"] == pytest.approx(entropy, abs=1e-6)
    assert cli("report", tmp_path / "run").status == 0
    page = re.sub(r"<[^>]+>", "", (tmp_path / "run" / "report.html").read_text())
    assert "blunt doubts grey most." in page
    assert "0 nats: always sure" in page
    for shown in (page, str(found)):
        assert "doubts" in shown
        assert f"{entropy:.3f} nats" in shown
