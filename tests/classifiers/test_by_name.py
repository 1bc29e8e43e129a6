"""Models that libraries know by name: timm's, torchvision's and transformers', by name and live, each with the
preprocessing and the label names of its own configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

import brittle
from brittle.classifiers import classifier
from brittle.classifiers.base import AdapterOptions
from brittle.classifiers.configured import Configuration, settings_with
from brittle.classifiers.preprocess import Preprocess
from brittle.classifiers.transformers_model import processor_steps
from brittle.classifiers.wildcards import expanded
from brittle.errors import BrittleError

pytestmark = pytest.mark.usefixtures("torchvision")
LEVEL = 1 / 255  # libraries round pixels to whole levels once they are resized


@pytest.fixture(scope="module")
def photograph() -> Image.Image:
    """Smooth, with colours that differ by place, 300 wide and 200 high."""
    rows, columns = np.mgrid[0:200, 0:300]
    waves = [np.sin(rows / a) * np.cos(columns / b) for a, b in ((19, 31), (23, 17), (41, 29))]
    return Image.fromarray(np.uint8(127.5 + 120 * np.stack(waves, -1)))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cache, and a host that nobody knows."""
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def as_batch(image: Image.Image) -> Tensor:
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] / 255


def tiny_vit(seed: int = 3) -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
        id2label={0: "cat", 1: "dog", 2: "frog"},
        label2id={"cat": 0, "dog": 1, "frog": 2},
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return ViTForImageClassification(config).eval()


@pytest.fixture(scope="module")
def vit_folder(tmp_path_factory: pytest.TempPathFactory, torchvision: Any) -> Path:
    from transformers import ViTImageProcessor

    folder = tmp_path_factory.mktemp("vit")
    tiny_vit().save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}, image_mean=[0.2, 0.3, 0.4], resample=3).save_pretrained(folder)
    return folder


def test_a_timm_model_prepares_images_as_timm_does(photograph: Image.Image) -> None:
    import timm

    named = classifier("timm:resnet18.a1_in1k,pretrained=no")
    live = timm.create_model("resnet18.a1_in1k", pretrained=False)
    theirs = timm.data.create_transform(**timm.data.resolve_data_config({}, model=live))(photograph)[None]
    ours = named.preprocess(as_batch(photograph))
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() < 1.5 * LEVEL / 0.224
    assert classifier(live).preprocess == named.preprocess


def test_labels_of_a_timm_model_are_the_wordnet_ids_of_imagenet() -> None:
    labels = classifier("timm:resnet18.a1_in1k,pretrained=no").labels
    assert (labels[0], labels[999], len(labels)) == ("n01440764", "n15075141", 1000)


def test_random_weights_of_a_name_are_the_same_each_time_and_leave_the_random_state_alone() -> None:
    before = torch.get_rng_state()
    first, second = (classifier("timm:test_resnet,pretrained=no") for _ in range(2))
    images = torch.rand(2, 3, 40, 40, generator=torch.Generator().manual_seed(1))
    assert torch.equal(first.log_probs(images), second.log_probs(images))
    assert torch.equal(before, torch.get_rng_state())


def test_a_timm_model_with_weights_of_its_own_gives_what_the_live_module_gives(tmp_path: Path) -> None:
    import timm

    torch.manual_seed(5)
    live = timm.create_model("test_resnet", pretrained=False, num_classes=4)
    save_file(live.state_dict(), tmp_path / "mine.safetensors")
    named = classifier(f"timm:test_resnet,weights={tmp_path}/mine.safetensors,arguments=num_classes=4")
    images = torch.rand(3, 3, 60, 50, generator=torch.Generator().manual_seed(1))
    assert torch.equal(named.log_probs(images), classifier(live).log_probs(images))
    assert named.labels == ("0", "1", "2", "3")


def test_a_timm_model_for_grey_images_takes_grey_images() -> None:
    named = classifier("timm:test_resnet,pretrained=no,arguments=in_chans=1/num_classes=3")
    assert named.log_probs(torch.rand(2, 1, 30, 30)).shape == (2, 3)


def test_a_torchvision_model_prepares_images_as_its_weights_say(photograph: Image.Image) -> None:
    from torchvision.models import ResNet18_Weights

    named = classifier("torchvision:resnet18,pretrained=no")
    theirs = ResNet18_Weights.DEFAULT.transforms()(photograph)[None]
    ours = named.preprocess(as_batch(photograph))
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() < 1.5 * LEVEL / 0.224
    assert named.labels == tuple(ResNet18_Weights.DEFAULT.meta["categories"])


def test_a_torchvision_module_by_name_gives_what_the_live_module_gives(tmp_path: Path) -> None:
    from torchvision.models import squeezenet1_1

    torch.manual_seed(2)
    live = squeezenet1_1(num_classes=5)
    torch.save(live.state_dict(), tmp_path / "mine.pt")
    named = classifier(f"torchvision:squeezenet1_1,weights={tmp_path}/mine.pt,arguments=num_classes=5,size=48")
    images = torch.rand(2, 3, 48, 48, generator=torch.Generator().manual_seed(1))
    own = {"size": 48, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225), "channels": "rgb"}
    assert torch.equal(named.log_probs(images), classifier(live, **own).log_probs(images))


def test_cached_weights_of_torchvision_are_used_and_refused_where_they_would_run_code(
    offline: None, tmp_path: Path
) -> None:
    from torchvision.models import SqueezeNet1_1_Weights, squeezenet1_1

    torch.manual_seed(2)
    live = squeezenet1_1()
    file = tmp_path / "hub" / "checkpoints" / SqueezeNet1_1_Weights.DEFAULT.url.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    torch.save(live.state_dict(), file)
    found = classifier("torchvision:squeezenet1_1")
    assert torch.equal(found.module.state_dict()["classifier.1.bias"], live.state_dict()["classifier.1.bias"])
    torch.save(live, file)
    with pytest.raises(BrittleError, match="would run code when loaded"):
        classifier("torchvision:squeezenet1_1")


def test_a_folder_of_transformers_gives_what_its_processor_and_model_give(
    vit_folder: Path, photograph: Image.Image
) -> None:
    import transformers

    # Transformers 5 has a faster one besides, which resizes otherwise.
    theirs_is = getattr(transformers, "ViTImageProcessorPil", transformers.ViTImageProcessor)
    named = classifier(f"hf:{vit_folder}")
    theirs = theirs_is.from_pretrained(vit_folder)(photograph, return_tensors="pt")["pixel_values"]
    ours = named.preprocess(as_batch(photograph))
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() < 1.5 * LEVEL / 0.5
    with torch.no_grad():
        expected = tiny_vit()(ours).logits.log_softmax(1)
        assert torch.allclose(named.log_probs(as_batch(photograph)), expected, atol=1e-6)
    assert named.labels == ("cat", "dog", "frog")


def test_a_live_model_of_transformers_finds_its_processor_beside_its_weights(vit_folder: Path) -> None:
    from transformers import ViTForImageClassification

    named, live = classifier(f"hf:{vit_folder}"), classifier(ViTForImageClassification.from_pretrained(vit_folder))
    images = torch.rand(2, 3, 50, 40, generator=torch.Generator().manual_seed(1))
    assert (live.preprocess, live.labels) == (named.preprocess, named.labels)
    with torch.no_grad():
        assert torch.equal(live.log_probs(images), named.log_probs(images))


def test_a_live_model_without_a_processor_says_so_and_keeps_its_labels() -> None:
    with pytest.warns(brittle.BrittleWarning, match="comes without an image processor"):
        found = classifier(tiny_vit())
    assert found.labels == ("cat", "dog", "frog")


def test_weights_from_a_file_and_random_ones_for_a_model_of_transformers(vit_folder: Path, tmp_path: Path) -> None:
    save_file(tiny_vit(8).state_dict(), tmp_path / "other.safetensors")
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        given = classifier(f"hf:{vit_folder},weights={tmp_path}/other.safetensors").log_probs(images)
        drawn = [classifier(f"hf:{vit_folder},pretrained=no").log_probs(images) for _ in range(2)]
        there = classifier(f"hf:{vit_folder}").log_probs(images)
    assert torch.equal(*drawn)
    assert not torch.allclose(given, there)
    assert not torch.allclose(drawn[0], there)


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (  # google/vit-base-patch16-224
            {"do_resize": True, "size": 224, "do_normalize": True, "image_mean": [0.5], "image_std": [0.5]},
            Preprocess(channels="rgb", size=(224, 224), mean=(0.5,), std=(0.5,)),
        ),
        (  # facebook/deit-base-distilled-patch16-224
            {"do_resize": True, "size": 256, "resample": 3, "do_center_crop": True, "crop_size": 224},
            Preprocess(channels="rgb", size=256, crop=224, interpolation="bicubic"),
        ),
        (  # facebook/convnext-tiny-224
            {"do_resize": True, "size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3},
            Preprocess(channels="rgb", size=256, crop=224, interpolation="bicubic"),
        ),
        (  # facebook/convnext-large-384
            {"do_resize": True, "size": {"shortest_edge": 384}, "crop_pct": 1.0, "resample": 3},
            Preprocess(channels="rgb", size=(384, 384), interpolation="bicubic"),
        ),
        (  # apple/mobilevit-small
            {
                "do_resize": True,
                "size": {"shortest_edge": 288},
                "do_center_crop": True,
                "crop_size": {"height": 256, "width": 256},
                "do_flip_channel_order": True,
            },
            Preprocess(channels="bgr", size=288, crop=256),
        ),
        (  # google/efficientnet-b0
            {"do_rescale": True, "rescale_factor": 1 / 127.5, "rescale_offset": True},
            Preprocess(channels="rgb", range=2.0, mean=1.0),
        ),
        ({"do_rescale": False}, Preprocess(channels="rgb", range=255.0)),
    ],
)
def test_processors_of_known_models_become_preprocessing(about: dict[str, Any], expected: Preprocess) -> None:
    assert processor_steps(about, "a model") == expected


def test_what_a_user_gives_comes_before_the_models_own_configuration() -> None:
    own = Configuration(
        Preprocess(size=256, crop=224, interpolation="bicubic", mean=0.4, std=0.3, channels="rgb"), ("a",)
    )
    resized = settings_with(AdapterOptions(size=64), own)
    assert resized["preprocess"] == Preprocess(size=64, mean=0.4, std=0.3, channels="rgb")
    scaled = settings_with(AdapterOptions(range=255.0, labels=("b", "c")), own)
    assert scaled["preprocess"] == Preprocess(size=256, crop=224, interpolation="bicubic", range=255.0, channels="rgb")
    assert (scaled["labels"], resized["labels"]) == (("b", "c"), ("a",))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("timm:resnet18.a1_in1k", "the weights of timm:resnet18.a1_in1k are not on this machine and can't be fetched"),
        ("torchvision:resnet18", "the weights of torchvision:resnet18 are not on this machine and can't be fetched"),
        ("hf:google/vit-base-patch16-224", "the weights of hf:google/vit-base-patch16-224 are not on this machine"),
        ("timm:resnet18x", "timm has no model 'resnet18x'. Did you mean 'resnet18'"),
        ("torchvision:resnet18x", "torchvision has no classifier 'resnet18x'. Did you mean 'resnet18'"),
        ("torchvision:resnet50.V3", "torchvision has no weights 'V3' for resnet50"),
        ("timm:test_resnet,pretrained=no,arguments=nothing=1", "timm:test_resnet can't be made"),
    ],
)
def test_what_is_not_to_be_had_is_said_in_one_line(spec: str, said: str, offline: None) -> None:
    with pytest.raises(BrittleError, match=re.escape(said)) as caught:
        classifier(spec)
    assert "\n" not in str(caught.value)


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match="can't be loaded as an image classifier of transformers"):
        classifier(f"hf:{tmp_path}")


@pytest.mark.parametrize(
    ("spec", "extra"), [("timm:resnet18", "timm"), ("torchvision:resnet18", "torchvision"), ("hf:a/b", "transformers")]
)
def test_a_missing_library_is_named_with_its_extra(spec: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    real = importlib.import_module

    def missing(name: str, package: str | None = None) -> Any:
        if name.split(".")[0] == extra:
            raise ModuleNotFoundError(f"No module named {extra!r}", name=extra)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(BrittleError, match=re.escape(f"[{extra}]'")):
        classifier(spec)


@pytest.mark.warned("is near chance on the untouched images")
def test_a_vit_is_measured_alike_by_name_and_live(vit_folder: Path) -> None:
    from transformers import ViTForImageClassification

    images = np.random.default_rng(0).random((12, 32, 32, 3), dtype=np.float32), np.arange(12) % 3
    found = [
        brittle.measure(what, images, nuisances="brightness", samples=4)
        for what in (f"hf:{vit_folder}", ViTForImageClassification.from_pretrained(vit_folder))
    ]
    assert found[0]["rho"] == found[1]["rho"]


def test_a_pattern_stands_for_the_models_of_timm_that_match(offline: None) -> None:
    from brittle.engine.open import open_study

    found = open_study({"classifiers": ["timm:test_resn*,pretrained=no"], "images": ["sample"]}).classifiers
    assert list(found) == ["timm:test_resnet,pretrained=False"]
    with pytest.raises(BrittleError, match="matches no classifier that is on this machine"):
        open_study({"classifiers": ["timm:no_such*,pretrained=no"], "images": ["sample"]})


def test_a_pattern_stands_for_what_is_on_this_machine(offline: None, tmp_path: Path, vit_folder: Path) -> None:
    from torchvision.models import SqueezeNet1_1_Weights

    file = tmp_path / "hub" / "checkpoints" / SqueezeNet1_1_Weights.DEFAULT.url.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    file.touch()
    assert expanded("torchvision:squeeze*") == {"squeezenet1_1": "torchvision:squeezenet1_1"}
    assert expanded(f"hf:{vit_folder.parent}/vit[0-9]") == {str(vit_folder): f"hf:{vit_folder}"}
    assert expanded("torchvision:squeezenet1_0") == {"": "torchvision:squeezenet1_0"}


def test_a_named_pattern_names_what_it_matches(tmp_path: Path) -> None:
    from brittle.engine.open import open_study

    for name in ("a", "b"):
        (tmp_path / f"{name}.onnx").touch()
    study = {"classifiers": {"mine": {"spec": f"onnx:{tmp_path}/*.onnx", "year": 2026}}, "images": ["sample"]}
    found = open_study(study).classifiers
    assert list(found) == [f"mine-{tmp_path}/a.onnx", f"mine-{tmp_path}/b.onnx"]
    assert [entry.attributes for entry in found.values()] == [{"year": 2026}] * 2


def test_a_pipeline_is_refused_with_what_to_give_instead() -> None:
    class Pipeline:
        model = tiny_vit()

        def __call__(self, images: Any) -> Any:
            raise AssertionError

    with pytest.raises(BrittleError, match=r"is a pipeline, not a classifier\. Give its model: pipeline\.model"):
        classifier(Pipeline())
