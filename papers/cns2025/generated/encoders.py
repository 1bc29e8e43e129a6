"""Trains the two small encoders of the out-of-class filter, and says how well they tell classes apart.

    python papers/cns2025/generated/encoders.py OUT --fashion FOLDER --mnist FOLDER [--limit 240]

They are trained on the last 20,000 training images of FashionMNIST and of MNIST; the bundled classifiers have seen the
former, too. The first 2,000 of FashionMNIST say how well they do. With a limit, each ends with half of these seconds.
OUT gets clip.tar, views.tar and encoders.json. On a CPU, --tiny tries it in a minute.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.classifiers.bundled import FASHION_LABELS
from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.generation.encoders import Encoder, encoder
from brittle.generation.small_encoders import EncoderShape, save_encoder, small_clip, small_dino
from brittle.generation.train_encoders import EncoderTraining, train_on_captions, train_on_views
from brittle.generation.train_small import DIGITS, SHIFTS, shifted_pictures
from brittle.images.idx import read_idx

CLASSES = tuple(name.lower() for name in FASHION_LABELS)
FROM, TESTED = 40_000, 2000


def main() -> None:
    given = _arguments()
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    rows = slice(FROM, FROM + 256) if given.tiny else slice(FROM, None)
    fashion, digits = (_read(Path(folder), rows) for folder in (given.fashion, given.mnist))
    images = torch.cat([fashion[0], digits[0]])
    labels = torch.cat([fashion[1], digits[1] + len(CLASSES)])
    pictures = shifted_pictures(images, labels, (*CLASSES, *DIGITS), SHIFTS, device)
    shape = EncoderShape(width=16, layers=1, heads=2, patch=8, features=8) if given.tiny else EncoderShape()
    options = EncoderTraining(bf16=device.type == "cuda")
    if given.tiny:
        options = EncoderTraining(training_steps=4, batch=8)
    limit = None if given.limit is None else given.limit / 2
    clip, tokenizer = small_clip([*CLASSES, *DIGITS, *SHIFTS], shape)
    numbers: dict[str, Any] = {"images": len(images)}
    began = time.monotonic()
    numbers["clip steps"] = train_on_captions(clip, tokenizer, pictures, options, limit, _said("clip", began))
    _save(out / "clip", clip, tokenizer)
    dino = small_dino(shape)
    numbers["views steps"] = train_on_views(dino, pictures, options, limit, _said("views", began))
    _save(out / "views", dino, None)
    numbers |= _tested(out, _read(Path(given.fashion), slice(0, 256 if given.tiny else TESTED)), str(device))
    (out / "encoders.json").write_text(json.dumps(numbers, indent=1))
    print(json.dumps(numbers, indent=1), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("out")
    parser.add_argument("--fashion", required=True, help="folder with FashionMNIST's idx files")
    parser.add_argument("--mnist", required=True, help="folder with MNIST's idx files")
    parser.add_argument("--limit", type=float, help="seconds for training both")
    parser.add_argument("--tiny", action="store_true", help="a few steps of each")
    return parser.parse_args()


def _read(folder: Path, rows: slice) -> tuple[Tensor, Tensor]:
    images, labels = (read_idx(folder / f"train-{name}.gz") for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    return torch.from_numpy(np.array(images[rows])), torch.from_numpy(np.array(labels[rows])).long()


def _said(what: str, began: float) -> Any:
    def call(step: int, loss: Tensor) -> None:
        if step == 1 or step % 200 == 0:
            print(f"{time.monotonic() - began:6.1f} s  {what}: step {step}, loss {float(loss):.4f}", flush=True)

    return call


def _save(folder: Path, model: Any, tokenizer: Any) -> None:
    save_encoder(folder, model.eval().cpu(), tokenizer)
    with tarfile.open(folder.with_suffix(".tar"), "w") as packed:
        packed.add(folder, folder.name)


def _tested(out: Path, test: tuple[Tensor, Tensor], device: str) -> dict[str, float]:
    """Of images that neither has seen: is the nearest caption of their class, and is their nearest neighbour?"""
    images = torch.nn.functional.pad(test[0], (2,) * 4)[:, None].float() / 255
    clip, views = (encoder(str(out / name), device) for name in ("clip", "views"))
    texts = clip.texts([prompt(CLASS_PROMPT, name) for name in CLASSES])
    found = {"clip, nearest caption right": _share((clip.images(images) @ texts.T).argmax(1) == test[1])}
    for name, each in (("clip", clip), ("views", views)):
        found[f"{name}, nearest neighbour of the same class"] = _neighbours(each, images, test[1])
    return found


def _neighbours(each: Encoder, images: Tensor, labels: Tensor) -> float:
    vectors = each.images(images)
    alike = (vectors @ vectors.T).fill_diagonal_(-1)
    return _share(labels[alike.argmax(1)] == labels)


def _share(right: Tensor) -> float:
    return float(right.float().mean())


if __name__ == "__main__":
    main()
