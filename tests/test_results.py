"""What functions give back, and what they say while they work."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import brittle
from brittle.api.notices import progress_shown
from brittle.errors import BrittleError
from brittle.notebook import NotebookLine, in_notebook
from brittle.progress import Progress, ProgressBar

FEW = {"count": 12, "progress": False}


@pytest.fixture(scope="module")
def found():
    return brittle.measure("bundled:plain", "sample", "affine:alpha=50", samples=3, **FEW)


def test_a_result_prints_as_the_table_of_the_command_line(found, cli):
    asked = ("--nuisance", "affine:alpha=50", "--samples", 3, "--count", 12)
    said = cli("measure", "classifier=bundled:plain", "sample", *asked)
    assert said.status == 0, said
    assert repr(found) == str(found) == said.out.rstrip()


def test_a_notebook_shows_table_and_figure_that_fit_the_cell():
    both = {"plain": "bundled:plain", "<b>&": "bundled:augmented"}
    found = brittle.measure(both, "sample", "affine:alpha=50", samples=3, **FEW)
    html = found._repr_html_()
    for row in found["results"]:
        assert f"{row['rho']:.3f}" in html
    assert "<table" in html
    assert 'src="data:image/svg+xml;base64,' in html
    assert html.count("max-width:100%") >= 2, "tables scroll and figures shrink"
    assert "&lt;b&gt;&amp;" in html
    assert "<b>&" not in html


def test_a_notebook_shows_every_measure_of_a_study_under_its_name():
    found = brittle.run("bundled:plain", "sample", "rotation:sigma=15", measures=["clean", "breaking-points"], **FEW)
    html = found._repr_html_()
    assert html.index(">clean</h3>") < html.index(">breaking-points</h3>")


def test_a_result_is_a_table_and_a_data_frame(found):
    table = found.table()
    assert table["rho"].to_pylist() == [found["rho"]]
    frame = found.to_pandas()
    assert frame["rho"].tolist() == [found["rho"]]
    assert frame["classifier"].tolist() == ["classifier"]


def test_a_result_in_memory_writes_its_report(found, tmp_path):
    path = found.report(tmp_path / "page.html")
    page = path.read_text()
    assert path == tmp_path / "page.html"
    assert "data:image/" in page, "the gallery"
    assert f"{found['rho']:.3f}" in page
    with pytest.raises(BrittleError, match="no run folder that a report could go to"):
        found.report()


def test_the_report_of_a_result_is_that_of_its_folder(tmp_path, cli):
    asked = {"samples": 2, "count": 12, "out": tmp_path / "run"}
    found = brittle.measure("bundled:plain", "sample", "affine:alpha=50", **asked)
    path = found.report()
    ours = path.read_text()
    assert path == tmp_path / "run" / "report.html"
    assert cli("report", tmp_path / "run").status == 0
    assert path.read_text() == ours


def test_a_plot_is_a_figure_that_can_be_saved(found, tmp_path):
    figure = found.plot()
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "rho.png")
    assert (tmp_path / "rho.png").read_bytes()[:4] == b"\x89PNG"
    assert figure._repr_png_()[:4] == b"\x89PNG"
    assert [axes.get_xlabel() for axes in figure.axes] == ["ρ of the class"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: brittle.breaking_points("bundled:plain", "sample", step=20, limit=60, **FEW),
        lambda: brittle.failure_points("bundled:plain", "sample", "rotation", severities=(1, 2), **FEW),
        lambda: brittle.layer_noise("bundled:plain", "sample", layers="1", repeats=1, networks=2, limit=0.5, **FEW),
        lambda: brittle.occlusion("bundled:plain", "sample", "patch", shares=(0.2, 0.5), **FEW),
        lambda: brittle.perturb("bundled:plain", "sample", targets=1, count=4, progress=False),
        lambda: brittle.ranking(
            {"a": "bundled:plain", "b": "bundled:augmented"}, "sample", "rotation", severities=(1,), **FEW
        ),
    ],
    ids=["break", "fail", "layer-noise", "occlusion", "perturb", "ranking"],
)
def test_every_result_has_tables_and_figures(ask):
    found = ask()
    assert found.table().num_rows >= 1
    assert found.rows.num_rows >= 1
    assert isinstance(found.plot(), Figure)
    assert str(found).count("\n") >= 2


def test_a_measure_without_a_figure_says_so():
    found = brittle.augmentation("bundled:plain", "sample", of="mixup", **FEW)
    assert found.rows.num_rows == 12
    with pytest.raises(BrittleError, match="the report has no figure of this"):
        found.plot()


def test_what_an_editor_completes_is_what_is_meant_to_be_used(found):
    offered = dir(found)
    assert {"table", "to_pandas", "report", "plot", "figures", "summary", "items"} <= set(offered)
    assert not [name for name in offered if name.startswith("_") or name in ("pop", "popitem", "fromkeys")]


def test_warnings_are_python_warnings_of_the_callers_line():
    labels = np.zeros(12, dtype=int)
    images = np.random.default_rng(0).random((12, 28, 28))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = brittle.measure("bundled:plain", (images, labels), "affine", samples=1)
    assert [str(each.message) for each in caught if each.category is brittle.BrittleWarning] == found["warnings"]
    assert found["warnings"]
    assert {each.filename for each in caught} == {__file__}


def test_a_warning_comes_once_in_a_notebook(monkeypatch):
    monkeypatch.setattr("brittle.api.notices.in_notebook", lambda: True)
    monkeypatch.setattr("brittle.api.notices._WARNED", set())
    monkeypatch.setattr("brittle.api.notices.NotebookLine", Progress)
    noise = np.random.default_rng(0).random((12, 28, 28)), np.zeros(12, dtype=int)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        several = [brittle.measure("bundled:plain", noise, "affine", samples=samples) for samples in (1, 1, 2)]
    said = [str(each.message) for each in caught if each.category is brittle.BrittleWarning]
    chance = next(text for text in several[0]["warnings"] if "near chance" in text)
    assert all(chance in found["warnings"] and "near chance" in str(found) for found in several)
    assert said.count(chance) == 1
    assert len(said) == len(set(said))
    assert not any("near chance" in found._repr_html_() for found in several)


def test_a_command_says_a_warning_once(tmp_path, cli):
    noise = np.random.default_rng(0).random((12, 28, 28))
    np.savez(tmp_path / "noise.npz", images=noise, labels=np.zeros(12, dtype=int))
    said = cli("measure", "bundled:plain", f"npz:{tmp_path}/noise.npz", "--nuisance", "affine", "--samples", 1)
    assert said.status == 0, said
    assert said.err.count("near chance") == 1


def test_progress_is_shown_in_a_terminal_and_not_elsewhere(monkeypatch):
    assert type(progress_shown(None)) is Progress
    assert type(progress_shown(False)) is Progress
    assert isinstance(progress_shown(True), ProgressBar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert isinstance(progress_shown(None), ProgressBar)
    assert type(progress_shown(False)) is Progress
    mine = Progress()
    with progress_shown(mine) as given:
        assert given is mine


class Shown:
    """What a notebook has displayed under one id."""

    def __init__(self):
        self.texts = []

    def display(self, what, *, raw, display_id):
        self.texts.append(what["text/plain"])
        return self

    def update(self, what, *, raw):
        self.texts.append(what["text/plain"])


def test_progress_in_a_notebook_is_one_line_written_anew(monkeypatch):
    cell = Shown()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=cell.display))
    assert in_notebook()
    assert isinstance(progress_shown(None), NotebookLine)
    assert type(progress_shown(False)) is Progress
    times = iter([0.0, 0.1, 1.0, 2.0])
    with NotebookLine(clock=lambda: next(times)) as line:
        line.start(400)
        line.at("affine on sample")
        for rows in (10, 90, 100):
            line.advance(rows)
    assert cell.texts == [
        "affine on sample: 100 of 400 (25%) images, 100 images/s",
        "affine on sample: 200 of 400 (50%) images, 100 images/s",
        "",
    ]
