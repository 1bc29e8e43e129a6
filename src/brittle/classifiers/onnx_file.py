"""ONNX files through onnxruntime: `onnx:model.onnx`. Names, shapes, types and layout are read from the file."""

from __future__ import annotations

import dataclasses
import glob
import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions, no_file
from brittle.classifiers.input_shape import is_channels_last, refuse_misfit
from brittle.classifiers.onnx_pieces import pieces
from brittle.classifiers.preprocess import Preprocess
from brittle.errors import BrittleError, BrittleWarning
from brittle.files import printable, real_path
from brittle.libraries import first_line
from brittle.registry import did_you_mean, option

MOST_NUMBERS = 1 << 31  # in a batch of a fixed size: 8 GB
FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxClassifier(AdaptedClassifier):
    """An ONNX model images → logits or probabilities. For inputs of rank 2, images are flattened."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        output_name: str | None = None,
        device: str | torch.device = "cpu",
        name: str = "",
        preprocess: Preprocess | None = None,
        **settings: Any,
    ) -> None:
        self.session = _open(Path(real_path(os.fspath(path))), str(device))
        inputs = self.session.get_inputs()
        entry = inputs[0] if len(inputs) == 1 else None
        if entry is None or entry.type not in FLOATS or len(entry.shape) not in (2, 4):
            raise BrittleError(
                f"{path} takes {', '.join(f'{i.name} {i.type} {i.shape}' for i in inputs) or 'no input'}",
                "Export a model with one input: float images, (batch, channels, height, width) or flat.",
            )
        self.path, self.input_name, self._dtype = Path(real_path(os.fspath(path))), entry.name, FLOATS[entry.type]
        # Symbolic dimensions are names or None; only numbers are binding.
        self._shape = [size if isinstance(size, int) and size > 0 else None for size in entry.shape]
        self.output_name = _choose_output(self.session.get_outputs(), output_name, str(path))
        preprocess = preprocess or Preprocess()
        if preprocess.layout is None and len(self._shape) == 4 and is_channels_last(self._shape[1:]):
            preprocess = dataclasses.replace(preprocess, layout="nhwc")
        # Images are prepared on the CPU: onnxruntime takes them from there, whatever its provider.
        super().__init__(name=name or str(path), preprocess=preprocess, device="cpu", **settings)

    def scores(self, prepared: Tensor) -> Tensor:
        images = self._fitted(prepared)
        fixed = self._shape[0]
        if fixed is None:
            return torch.cat([self._run(each) for each in pieces(self.session, images)])
        if fixed == len(images):
            return self._run(images)
        if fixed * math.prod(images.shape[1:]) > MOST_NUMBERS:
            raise BrittleError(
                f"classifier {self.name} takes {fixed:,} images at once, more than memory holds",
                "Export it with a free batch dimension.",
            )
        chunks = []
        for start in range(0, len(images), fixed):
            chunk = images[start : start + fixed]
            padding = [(0, fixed - len(chunk))] + [(0, 0)] * (images.ndim - 1)
            chunks.append(self._run(np.pad(chunk, padding, mode="edge"))[: len(chunk)])
        return torch.cat(chunks) if chunks else torch.empty(0, self._classes or 0)

    def example(self, image: Tensor) -> Tensor:
        """What the model is given for one image (1, C, H, W) in [0, 1]: as many copies as it takes at once."""
        fitted = self._fitted(self.preprocess(image))
        return torch.from_numpy(np.repeat(fitted, self._shape[0] or 1, 0))

    def _fitted(self, prepared: Tensor) -> np.ndarray[Any, Any]:
        """Prepared images in the shape and the numbers that the model takes."""
        self._fit(prepared)
        if len(self._shape) == 2:
            prepared = prepared.flatten(1)
        return np.ascontiguousarray(prepared.detach().numpy(), dtype=self._dtype)

    def _run(self, images: np.ndarray[Any, Any]) -> Tensor:
        (found,) = self.session.run([self.output_name], {self.input_name: images})
        if isinstance(found, list):
            # ZipMap, as scikit-learn converters write it: a dictionary class → probability for each image.
            return torch.tensor([list(row.values()) for row in found])
        return torch.from_numpy(found)

    def _fit(self, prepared: Tensor) -> None:
        got = tuple(prepared.shape[1:])
        got = (math.prod(got),) if len(self._shape) == 2 else got
        refuse_misfit(self.name, self._shape[1:], got, self.preprocess.layout)


def _open(path: Path, device: str) -> Any:
    import onnxruntime

    if not path.is_file():
        raise no_file(path, "*.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    providers: list[Any] = ["CPUExecutionProvider"]
    if device.startswith("cuda"):
        if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            providers.insert(0, ("CUDAExecutionProvider", {"device_id": torch.device(device).index or 0}))
        else:
            warnings.warn(
                f"onnxruntime has no CUDA here, so {path} runs on the CPU. Install onnxruntime-gpu to change that.",
                BrittleWarning,
                stacklevel=2,
            )
    try:
        # onnxruntime takes names that are UTF-8 only.
        named = printable(str(path)) == str(path)
        opened = onnxruntime.InferenceSession(str(path) if named else path.read_bytes(), options, providers=providers)
        # Names of inputs, outputs and their axes are decoded when they are asked for, and may be no text.
        for each in (*opened.get_inputs(), *opened.get_outputs()):
            _ = each.name, each.type, each.shape
        return opened
    except Exception as error:
        what = f"{printable(str(path))} can't be read as an ONNX model: {first_line(error)}"
        raise BrittleError(what, "Export it again.") from error


def _choose_output(outputs: Sequence[Any], wanted: str | None, path: str) -> str:
    """The first 2-D float output, or else the first that could be one: of unknown shape, or a ZipMap."""
    names = [output.name for output in outputs]
    if wanted is not None:
        if wanted not in names:
            raise BrittleError(f"{path} has no output {wanted!r}", did_you_mean(wanted, names))
        return wanted
    floats = [output for output in outputs if output.type in FLOATS]
    matrices = [output for output in floats if len(output.shape or ()) == 2]
    maps = [output for output in outputs if output.type.startswith("seq(map(")]
    for found in (*matrices, *maps, *floats):
        return str(found.name)
    raise BrittleError(
        f"{path} does not output scores, only {', '.join(f'{each.name} {each.type}' for each in outputs) or 'nothing'}",
        "Export it with its logits or probabilities as an output.",
    )


@register("onnx")
@dataclasses.dataclass(frozen=True, kw_only=True)
class OnnxLoader(AdapterOptions):
    """An ONNX file."""

    path: str = option(dataclasses.MISSING, "the .onnx file", positional=True)
    output_name: str | None = option(None, "which output to read; by default the first 2-D float output")

    def matching(self) -> list[str]:
        """Files that match."""
        return sorted(each for each in glob.glob(real_path(self.path)) if each.lower().endswith(".onnx"))

    def load(self, device: str = "cpu") -> OnnxClassifier:
        return OnnxClassifier(self.path, output_name=self.output_name, device=device, **self.settings())
