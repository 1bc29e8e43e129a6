"""What papers/cns2025/tables.py derives from the paper's tables, worked out a second time."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

HERE = Path(__file__).parents[2] / "papers" / "cns2025"


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield importlib.import_module("tables")
    del sys.modules["tables"]


def test_every_printed_model_is_there(tables):
    found = tables.models()
    assert len(found) == 42
    row = found["deit3_base_patch16_224.fb.in1k"]
    assert row.accuracy.tolist() == [0.91, 0.91, 0.9, 0.88, 0.84, 0.79]
    assert (row.ce, row.rce, row.imagenet) == (0.396, 0.610, pytest.approx(0.837))
    assert [each.name for each in found.values() if each.imagenet is None] == ["vssm_base_v0"]


def test_table_3_and_table_4_disagree_about_dinov1_and_so_about_the_best_pre_training(tables):
    assert tables.differing_rce() == [("DeiT3-H", 0.582, 0.583), ("DINOv1-IN1k", 0.636, 0.676)]
    assert (tables.best_pretraining(3), tables.best_pretraining(4)) == ("DINOv1-IN1k", "MoCov3-IN1k")


def test_one_average_and_one_drop_of_table_5_do_not_follow_from_its_accuracies(tables):
    ((name, printed, derived),) = tables.wrong_averages()
    assert (name, printed, derived) == ("deit3_large_patch16_224.fb.in1k", 0.89, pytest.approx(0.875))
    ((name, scale, printed, derived),) = tables.wrong_drops()
    assert (name, scale, printed, derived) == ("dinov1_ft_vit_base_patch16", "2.5", 0.04, pytest.approx(0.07))


def test_averages_are_over_all_six_scales(tables):
    six, five = tables.averaged_over()
    assert six < 0.005 < five


def test_the_accuracy_of_dinov1_at_the_last_scale_is_nearer_0_78_by_three_roads(tables):
    assert tables.implied_last_accuracy("dinov1_ft_vit_base_patch16") == pytest.approx((0.78, 0.77, 0.78), abs=0.015)


def test_the_printed_partial_correlation_has_a_p_value_of_0_64(tables):
    r = tables.PRINTED_PARTIAL
    assert tables.p_of_printed() == pytest.approx(2 * stats.t.sf(abs(r) * np.sqrt(2 / (1 - r * r)), 2))


def test_p_values_over_shifts_and_scales_take_models_for_more_points_than_they_are(tables):
    for points in (70, 350):
        x = np.random.default_rng(0).normal(
            size=points - 1
        )  # one degree of freedom fewer, for the variable that is given
        y = np.random.default_rng(1).normal(size=points - 1)
        x, y = x - x.mean(), y - y.mean()
        y -= x * (x @ y) / (x @ x)
        r = tables.PRINTED_PARTIAL
        mixed = r * x / np.linalg.norm(x) + np.sqrt(1 - r * r) * y / np.linalg.norm(y)
        assert tables.p_of_printed(points) == pytest.approx(stats.pearsonr(x, mixed).pvalue, rel=1e-6)
    assert round(tables.p_of_printed(70), 4) == 0.0025
    assert tables.p_of_printed(350) == pytest.approx(5e-12, rel=0.1)


def test_the_printed_accuracies_of_sixteen_supervised_models_lie_on_lines_that_steepen(tables):
    there, names = tables.models(), tables.supervised()
    assert len(names) == 16
    known = [there[name].imagenet for name in names]
    fits = [stats.linregress(known, [there[name].accuracy[at] for name in names]) for at in range(6)]
    found = tables.lines(names)
    assert [each.slope.value for each in found] == pytest.approx([each.slope for each in fits])
    assert [each.p_value for each in found] == pytest.approx([each.pvalue for each in fits])
    assert all(each.pvalue < 0.05 for each in fits)
    assert np.all(np.diff([each.slope for each in fits][1:]) > 0)


@pytest.mark.parametrize(("logarithm", "expected"), [(False, 0.94), (True, 0.69)])
def test_the_rounded_tables_give_a_partial_correlation_of_the_other_sign(tables, logarithm, expected):
    found = tables.deit3()
    size = np.log(found.parameters) if logarithm else found.parameters
    left = [each - np.polyval(np.polyfit(found.identical, each, 1), found.identical) for each in (size, found.shifted)]
    by_hand = stats.pearsonr(*left).statistic
    assert tables.size_effect(logarithm).correlation.value == pytest.approx(by_hand)
    assert by_hand == pytest.approx(expected, abs=0.005)


def test_the_page_says_it(tables, monkeypatch):
    monkeypatch.setattr(tables, "REDRAWN", 200)
    said = tables.page()
    assert "| rCE of DINOv1-IN1k | 0.636 (table 3) | 0.676 (table 4) |" in said
    assert "p = 0.64" in said


def test_the_readme_has_what_the_script_prints(tables):
    assert tables.page() in (HERE / "README.md").read_text(encoding="utf-8")
