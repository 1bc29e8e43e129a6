"""Corruption errors of classifiers whose answers are written down, through the whole house."""

import numpy as np
import pytest
import torch
from PIL import Image

import brittle
from brittle.errors import BrittleError
from brittle.statistics.corruption_error import ALEXNET, ALEXNET_CLEAN

pytestmark = pytest.mark.warned("may be none at all")

# Right answers of four images at severities 0 to 3. Errors of own: 1/4; 1/4, 2/4, 3/4. Of the reference: 2/4; 2/4,
# 3/4, 4/4.
OWN = [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
REFERENCE = [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
OPTIONS = {"severities": (1, 2, 3), "resamples": 200}


@pytest.fixture
def found(scripted, numbered):
    classifiers, images = scripted(own=OWN, alexnet=REFERENCE)
    return brittle.corruption_error(classifiers, images, numbered, reference="alexnet", **OPTIONS)


def test_ce_and_rce_of_a_small_table_by_hand(found):
    row = found.of("own")
    (shift,) = row["shifts"]
    assert (row["mce"], shift["ce"]) == pytest.approx((6 / 9, 6 / 9))
    assert (row["mean_rce"], shift["rce"]) == pytest.approx(((6 - 3) / (9 - 6),) * 2)
    assert shift["errors"] == pytest.approx([1 / 4, 2 / 4, 3 / 4])
    assert shift["error_clean"] == 1 / 4
    assert row["drop_over_images"] == pytest.approx((1 / 4 + 2 / 4 + 3 / 4) / 3 - 1 / 4)


def test_the_reference_is_1_by_itself(found):
    row = found.of("alexnet")
    assert (row["mce"], row["mean_rce"], row["mce_interval"]) == (1, 1, [1, 1])


def test_the_first_classifier_is_the_reference_unless_one_is_named(scripted, numbered):
    classifiers, images = scripted(own=OWN, other=REFERENCE)
    found = brittle.corruption_error(classifiers, images, numbered, **OPTIONS)
    assert {row["reference"] for row in found["results"]} == {"own"}
    assert found.of("other")["mce"] == pytest.approx(9 / 6)


def test_means_are_over_shifts_and_drops_over_images(scripted, numbered):
    classifiers, images = scripted(own=OWN, alexnet=REFERENCE)
    nuisances = {"all": numbered, "again": numbered}
    found = brittle.corruption_error(classifiers, images, nuisances, reference="alexnet", **OPTIONS)
    row = found.of("own")
    assert [shift["nuisance"] for shift in row["shifts"]] == ["all", "again"]
    assert row["mce"] == pytest.approx(np.mean([shift["ce"] for shift in row["shifts"]]))
    assert row["images"] == 4
    # The same pictures under two names are no more than once.
    alone = brittle.corruption_error(classifiers, images, numbered, reference="alexnet", **OPTIONS).of("own")
    assert row["mce_interval"] == alone["mce_interval"]
    assert row["drop_over_images_interval"] == pytest.approx(alone["drop_over_images_interval"])


def test_the_interval_of_the_drop_keeps_the_order_in_which_images_were_drawn(scripted, numbered):
    """Images that are sorted by how they fail: of one severity it is the interval that failure points give, too."""
    classifiers, images = scripted(own=[[1, int(image < 20)] for image in range(60)])
    row = brittle.corruption_error(classifiers, images, numbered, severities=(1,), resamples=200)["results"][0]
    (curve,) = brittle.failure_points(classifiers, images, numbered, severities=(1,))["results"]
    assert row["drop_over_images"] == pytest.approx(40 / 60)
    assert row["drop_over_images_interval"] == pytest.approx(curve["severities"][1]["drop_interval"])


@pytest.mark.warned("does not drop under")
def test_a_reference_without_a_drop_is_said_and_not_divided_by(scripted, numbered):
    flat = [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    classifiers, images = scripted(own=OWN, flat=flat)
    found = brittle.corruption_error(classifiers, images, numbered, reference="flat", **OPTIONS)
    row = found.of("own")
    assert (row["mean_rce"], row["shifts"][0]["rce"]) == (None, None)
    assert row["mce"] == pytest.approx(6 / 6)
    assert any("does not drop" in text for text in found["warnings"])
    assert "does not drop" in str(found)


@pytest.mark.parametrize(
    ("reference", "why"),
    [("alexnt", "'alexnt' is not among the classifiers"), ("imagenet-c:alexnet", "not one of ImageNet-C's")],
)
def test_a_wrong_reference_is_refused_before_work_begins(scripted, numbered, reference, why):
    classifiers, images = scripted(own=OWN * 16, other=REFERENCE * 16)
    seen = []

    def counting(pixels):
        seen.append(len(pixels))
        return classifiers["own"](pixels)

    with pytest.raises(BrittleError, match=why):
        brittle.corruption_error(classifiers | {"own": counting}, images, numbered, reference=reference, **OPTIONS)
    assert sum(seen) < 64  # a trial on some images, and nothing more


def test_rows_are_those_of_failure_points(found):
    assert found.rows.num_rows == 2 * 4 * 3
    assert set(found.rows["classifier"].to_pylist()) == {"own", "alexnet"}


def in_imagenet_cs_layout(root, corruptions):
    """Two classes of three grey images each; a corruption's severity is added to every pixel."""
    for label, shade in (("n01", 40), ("n02", 200)):
        for number in range(3):
            for corruption in corruptions:
                for severity in range(1, 6):
                    folder = root / "c" / corruption / str(severity) / label
                    folder.mkdir(parents=True, exist_ok=True)
                    level = min(255, shade + 20 * severity + 8 * number)
                    Image.new("RGB", (8, 8), (level,) * 3).save(folder / f"{number}.png")
            folder = root / "clean" / label
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (shade + 8 * number,) * 3).save(folder / f"{number}.png")
    return f"imagenet-c:{root}/c,clean=folder:{root}/clean"


def bright(images):
    """Class 1 where the image is brighter than 0.4: right without a shift."""
    light = images.mean((1, 2, 3)) > 0.4
    return 8 * torch.nn.functional.one_hot(light.long(), 2).float()


@pytest.mark.warned("published errors of ImageNet-C")
def test_alexnets_published_errors_divide_on_imagenet_cs_layout(tmp_path):
    """The three dark images cross 0.4, that is 102, where 40 + 20 s + 8 n > 102: from s = 4, 3 and 3 on, so that of
    six images 0, 0, 2, 3 and 3 are wrong at severities 1 to 5."""
    images = in_imagenet_cs_layout(tmp_path, ["fog", "snow"])
    found = brittle.corruption_error({"bright": bright}, images, reference="imagenet-c:alexnet", resamples=100)
    error = (0 + 0 + 2 + 3 + 3) / 6 / 5
    for shift in found["shifts"]:
        assert shift["ce"] == pytest.approx(error / ALEXNET[shift["nuisance"]])
        assert shift["rce"] == pytest.approx(error / (ALEXNET[shift["nuisance"]] - ALEXNET_CLEAN))
    assert found["mce"] == pytest.approx(np.mean([error / ALEXNET[name] for name in ("fog", "snow")]))
    assert any(f"1,000 classes at 224×224, and {images!r} has 2 at 8×8" in text for text in found["warnings"])


def test_alexnet_has_no_published_errors_for_other_corruptions(tmp_path):
    images = in_imagenet_cs_layout(tmp_path, ["smoke"])
    with pytest.raises(BrittleError, match="not one of ImageNet-C's"):
        brittle.corruption_error({"bright": bright}, images, reference="imagenet-c:alexnet", resamples=100)


@pytest.mark.warned("published errors of ImageNet-C", "measured at others")
def test_where_severities_are_others_than_alexnets_there_is_no_ce_and_the_rest_is_told(tmp_path):
    images = in_imagenet_cs_layout(tmp_path, ["fog"])
    found = brittle.corruption_error(
        {"bright": bright}, images, reference="imagenet-c:alexnet", severities=[1, 2, 3], resamples=100
    )
    assert (found["mce"], found["mean_rce"]) == (None, None)
    assert found["shifts"][0]["errors"] == pytest.approx([0, 0, 2 / 6])
    assert any(f"'fog' on {images!r} was measured at others: there is no CE" in text for text in found["warnings"])
    assert "fog" in str(found)


@pytest.mark.warned("are not followed, since images are missing")
def test_the_drop_over_images_is_the_pooled_one_of_failure_points_also_where_a_shift_lacks_images(tmp_path):
    """Forty dark images, of which fog lacks fifteen; fog brightens every third of the others and snow two of five."""
    rows = ["path,class,shift,scale,seed"]
    for seed in range(40):
        light = {"": False, "fog": seed % 3 == 0, "snow": seed % 5 < 2}
        for shift in ("", "snow") if seed < 15 else ("", "fog", "snow"):
            file = f"{shift}{seed}.png"
            Image.new("L", (4, 4), 200 if light[shift] else 40).save(tmp_path / file)
            rows.append(f"{file},0,{shift},{int(bool(shift))},{seed}")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    images = f"scales:{tmp_path / 't.csv'}"
    row = brittle.corruption_error({"bright": bright}, images, resamples=100)["results"][0]
    (pooled,) = brittle.failure_points(bright, images).summary["measures"]["failure-points"]["pooled"]
    assert row["drop_over_images"] == pytest.approx((9 + 16) / (25 + 40))
    assert pooled["drop"] == pytest.approx((9 + 16) / (25 + 40))
    assert row["drop_over_images_interval"] == pytest.approx(pooled["drop_interval"])


@pytest.mark.warned("paths of the shift 'snow' are not followed")
def test_an_image_that_lacks_a_scale_of_one_shift_counts_under_the_others(tmp_path):
    images = in_imagenet_cs_layout(tmp_path, ["fog", "snow"])
    (tmp_path / "c" / "snow" / "3" / "n01" / "2.png").unlink()
    classifiers = {"bright": bright, "dark": lambda pixels: bright(0.8 * pixels)}
    found = brittle.corruption_error(classifiers, images, reference="bright", resamples=100)
    shifts = {shift["nuisance"]: shift for shift in found.of("bright")["shifts"]}
    assert {name: shift["images"] for name, shift in shifts.items()} == {"fog": 6, "snow": 5}
    assert shifts["snow"]["errors"] == pytest.approx(np.array([0, 0, 1, 2, 2]) / 5)
    assert [row["images"] for row in found["results"]] == [6, 6]
    ranked = brittle.ranking(classifiers, images)
    assert [row["images"] for row in ranked["results"]] == [6, 6, 5, 5]
