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
