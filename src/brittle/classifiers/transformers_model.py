"""Image classifiers of transformers: `hf:google/vit-base-patch16-224` from the hub or its cache, `hf:FOLDER` from disk,
and what any of them says of itself."""

from __future__ import annotations

import dataclasses
import glob
import importlib
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from brittle.classifiers import register
from brittle.classifiers.checkpoint import load_weights
from brittle.classifiers.configured import (
    Configuration,
    NamedModelOptions,
    interpolation,
    missing_weights,
    same_random_weights,
    settings_with,
)
from brittle.classifiers.preprocess import Preprocess
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError, BrittleWarning
from brittle.files import printable, read_whole, real_path
from brittle.libraries import first_line, imported, library
from brittle.network_access import hugging_face_hub, reachable
from brittle.registry import option

PLAIN_RANGE = 255  # of the pixels that a processor takes
SMALL = 384  # ConvNeXt crops images that end up smaller than this, and squashes larger ones


def is_transformers(module: Any) -> bool:
    """Whether a module is one of transformers' classifiers, which carry their configuration with them."""
    return isinstance(getattr(getattr(module, "config", None), "id2label", None), Mapping)


def transformers_configuration(module: Any) -> Configuration:
    """What a live model says of itself, and the image processor beside its weights, where that is on this machine."""
    where = str(getattr(module, "name_or_path", "") or getattr(module.config, "_name_or_path", ""))
    processor = image_processor(where, local_files_only=True) if where else None
    return _configuration(module, processor, type(module).__name__)


def _configuration(module: Any, processor: Any, who: str) -> Configuration:
    config: Any = module.config
    count = len(config.id2label)
    labels = tuple(str(config.id2label[place]) for place in range(count))
    named = labels != tuple(f"LABEL_{place}" for place in range(count))
    if processor is not None:
        preprocess = processor_steps(processor.to_dict(), who)
    else:
        warnings.warn(
            f"{who} comes without an image processor: images are given to it as they are. Give size=…, mean=… and "
            "std=… where it was trained with others.",
            BrittleWarning,
            stacklevel=3,
        )
        preprocess = Preprocess(channels="rgb" if getattr(config, "num_channels", 3) == 3 else None)
    return Configuration(preprocess, labels if named else None)


def processor_steps(about: Mapping[str, Any], who: str) -> Preprocess:
    """An image processor's configuration (preprocessor_config.json, with its defaults) as preprocessing."""
    steps: dict[str, Any] = {"channels": "bgr" if about.get("do_flip_channel_order") else "rgb"}
    if about.get("do_resize"):
        steps |= _resizing(about, who)
    if about.get("do_center_crop"):
        height, width = _sides(about["crop_size"])
        if height != width:
            raise BrittleError(f"{who} crops images to {height}×{width}, not a square", "Give size=… of your own.")
        steps["crop"] = height
    factor = (
        PLAIN_RANGE * float(about.get("rescale_factor", 1 / PLAIN_RANGE)) if about.get("do_rescale", True) else 255.0
    )
    steps["range"] = factor
    shift = 1.0 if about.get("rescale_offset") else 0.0  # EfficientNet's: values from −1 to 1
    if about.get("do_normalize"):
        steps["mean"] = tuple(float(value) + shift for value in about["image_mean"])
        steps["std"] = tuple(float(value) for value in about["image_std"])
    elif shift:
        steps["mean"] = shift
    return Preprocess(**steps)


def _resizing(about: Mapping[str, Any], who: str) -> dict[str, Any]:
    size = about["size"]
    found: dict[str, Any] = {"interpolation": interpolation(about.get("resample", 2), who)}
    shortest = size if isinstance(size, int) else size.get("shortest_edge")
    if shortest is None or size == {"height": shortest, "width": shortest}:
        return found | {"size": _sides(size)}
    if about.get("crop_pct") is not None:
        if shortest >= SMALL:
            return found | {"size": (shortest, shortest)}
        return found | {"size": int(shortest / about["crop_pct"]), "crop": shortest}
    # An int alone is what old files of ViT and its like hold, which resize to a square.
    return found | {
        "size": (shortest, shortest) if isinstance(size, int) and not about.get("do_center_crop") else shortest
    }


def _sides(size: Any) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return int(size["height"]), int(size["width"])


def image_processor(where: str, **options: Any) -> Any:
    """The image processor beside a model's weights; None where there is none."""
    with imported("transformers", "transformers", f"the classifier hf:{where}"):
        kind = importlib.import_module("transformers").AutoImageProcessor
        try:
            return kind.from_pretrained(where, trust_remote_code=False, **options)
        except (OSError, ValueError):
            return None


@register("hf")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TransformersLoader(NamedModelOptions):
    """An image classifier of transformers, from Hugging Face's hub or a folder, with its own preprocessing and label
    names. Code that a repository brings along is never run."""

    model: str = option(
        dataclasses.MISSING, "its name on the hub, or a folder that save_pretrained wrote", positional=True
    )
    revision: str | None = option(None, "a branch, tag or commit of the hub; by default main")

    def load(self, device: str = "cpu") -> TorchClassifier:
        who = f"hf:{self.model}"
        library("transformers", "transformers", f"the classifier {who}")
        folder = Path(real_path(self.model))
        where = str(folder) if folder.is_dir() else self.model
        _refuse_weights_elsewhere(folder, who)
        options = {"revision": self.revision} if self.revision and not folder.is_dir() else {}
        with imported("transformers", "transformers", f"the classifier {who}"), quiet():
            module, local = self._made(where, options, folder.is_dir(), who)
        processor = image_processor(where, local_files_only=local, **options)
        settings = settings_with(self, _configuration(module, processor, who))
        return TorchClassifier(module, device=device, name=who, **settings)

    def matching(self) -> list[str]:
        """Folders that match and hold a model."""
        found = glob.glob(real_path(self.model))
        return sorted(each for each in found if (Path(each) / "config.json").is_file())

    def _made(self, where: str, options: dict[str, Any], is_folder: bool, who: str) -> tuple[nn.Module, bool]:
        """The model, and whether it was found on this machine."""
        try:
            return self._from(where, local_files_only=True, **options), True
        except OSError as error:
            if is_folder:
                raise _unusable(who, error) from error
            if not reachable(hugging_face_hub()):
                remedy = "Connect, or name a folder that save_pretrained wrote."
                raise missing_weights(who, hugging_face_hub(), remedy) from error
        except (ValueError, RuntimeError, KeyError) as error:
            raise _unusable(who, error) from error
        try:
            return self._from(where, local_files_only=False, **options), False
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise _unusable(who, error) from error

    def _from(self, where: str, **options: Any) -> nn.Module:
        transformers: Any = importlib.import_module("transformers")
        models, safe = transformers.AutoModelForImageClassification, {"trust_remote_code": False}
        if self.weights is None and self.pretrained:
            found: nn.Module = models.from_pretrained(where, **options, **safe)
            return found
        config = transformers.AutoConfig.from_pretrained(where, **options, **safe)
        with same_random_weights():
            found = models.from_config(config, **safe)
        if self.weights is not None:
            load_weights(found, self.weights)
        return found


def _refuse_weights_elsewhere(folder: Path, who: str) -> None:
    """Weights in several files come with an index that names them: files beside it, and no others."""
    for index in folder.glob("*.index.json"):
        try:
            names = set(json.loads(read_whole(index))["weight_map"].values())
            wrong = next((name for name in names if Path(name).name != name or not (folder / name).is_file()), None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BrittleError(f"{index} of {who} is damaged", "Save the model again with save_pretrained.") from error
        if wrong is not None:
            raise BrittleError(f"{index} names {printable(wrong)!r}, which is not a file beside it", "Copy it there.")


def _unusable(who: str, error: Exception) -> BrittleError:
    return BrittleError(
        f"{who} can't be loaded as an image classifier of transformers: {first_line(error)}",
        "Name a model for image classification, or a folder that save_pretrained wrote.",
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Without the bars that transformers draws while it reads weights."""
    logging: Any = importlib.import_module("transformers.utils.logging")
    drawn = not importlib.import_module("huggingface_hub.utils").are_progress_bars_disabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if drawn:
            logging.enable_progress_bar()
