"""Scalars: flat names and numbers of any summary, and the names that stand for several."""

import pytest

from brittle.report.scalars import parts_of, scalars_of, selected

ROW = {
    "classifier": "a.b",
    "image_set": "i",
    "nuisance": "blur:s=0.5",
    "seed": 3,
    "rho": 0.5,
    "interval": [0.4, 0.6],
    "interval_simultaneous": [0.3, 0.7],
    "drop": None,
    "drop_interval": None,
    "reached": True,
    "classes": [{"label": 1, "rho": 0.1}],
}
MEAN = {"classifier": "a.b", "rho": 0.25, "interval": [0.2, 0.3]}
SUMMARY = {
    "measures": {
        "robustness": {"kind": "robustness", "results": [ROW], "means": [MEAN]},
        "line": {"kind": "line", "slope": 1.5, "fit": {"r2": 0.9}},
    }
}
STANDS_FOR = {
    "rho": 2,
    "rho.low": 2,
    "a.b.rho": 2,
    "blur:s=0.5.rho": 1,
    "mean.rho": 1,
    "robustness.rho.simultaneous.low": 1,
    "slope": 1,
    "fit.r2": 1,
    "low": 0,
    "b.rho": 0,
    "5.rho": 0,
    "ho": 0,
    ".rho": 0,
    "": 0,
}


def test_numbers_and_interval_ends_have_names_and_options_have_none():
    assert scalars_of(SUMMARY) == {
        "robustness.a.b.i.blur:s=0.5.rho": 0.5,
        "robustness.a.b.i.blur:s=0.5.rho.low": 0.4,
        "robustness.a.b.i.blur:s=0.5.rho.high": 0.6,
        "robustness.a.b.i.blur:s=0.5.rho.simultaneous.low": 0.3,
        "robustness.a.b.i.blur:s=0.5.rho.simultaneous.high": 0.7,
        "robustness.a.b.mean.rho": 0.25,
        "robustness.a.b.mean.rho.low": 0.2,
        "robustness.a.b.mean.rho.high": 0.3,
        "line.slope": 1.5,
        "line.fit.r2": 0.9,
    }


@pytest.mark.parametrize("name", STANDS_FOR)
def test_a_shorter_name_stands_for_every_number_that_has_its_parts(name):
    assert len(selected(list(parts_of(SUMMARY)), name)) == STANDS_FOR[name]
