"""Trains the two classifiers that come with Brittle: `python -m brittle.training.bundled DIR --out FOLDER`.

DIR holds FashionMNIST's four idx files. Both networks are `SmallNet`, trained on all 60,000 training images with the
same recipe (AdamW, one learning-rate cycle, no label smoothing); `augmented` also sees most images through a fresh
random affine warp. The test images are looked at once, after the last step.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from brittle.classifiers.bundled import SmallNet
from brittle.images.idx import read_idx

KAPPA = 1.75  # of the Fawzi & Frossard prior: G = κ · diag(1/3, 1/3, 1/3, 1/3, 1, 1)
BATCH = 256
COMMAND = "python -m brittle.training.bundled FASHION_MNIST_DIR --out src/brittle/classifiers/data"


@dataclass(frozen=True)
class Recipe:
    """What makes one of the classifiers."""

    name: str
    epochs: int
    warped: float  # share of training images that are warped
    alpha: float = (
        40.0  # warps are drawn from N(identity, (αG)⁻¹): at 40 a shift has a standard deviation of 1.7 pixels
    )
    rate: float = 3e-3
    decay: float = 0.05

    def __str__(self) -> str:
        warp = (
            f"{self.warped:.0%} of images warped by affine draws of alpha={self.alpha:g}"
            if self.warped
            else "no augmentation"
        )
        return (
            f"{self.epochs} epochs of 60000 images, batches of {BATCH}, AdamW with weight decay {self.decay:g}, "
            f"one cycle up to a learning rate of {self.rate:g}, cross-entropy, {warp}"
        )


RECIPES = (Recipe("plain", epochs=12, warped=0.0), Recipe("augmented", epochs=30, warped=0.8))


class Made(NamedTuple):
    """How the weights were made; kept with them."""

    command: str
    seed: str
    torch: str
    device: str

    @classmethod
    def here(cls, seed: int, device: str) -> Made:
        where = (
            torch.cuda.get_device_name(device)
            if device.startswith("cuda")
            else f"CPU, {torch.get_num_threads()} threads"
        )
        return cls(f"{COMMAND} --seed {seed} --device {device}", str(seed), torch.__version__, where)


class Score(NamedTuple):
    """What is printed about a trained classifier, on the 10,000 test images."""

    error: float
    loss: float  # mean negative log-likelihood, nats
    calibration: float  # expected calibration error, 15 bins of equal width

    def __str__(self) -> str:
        return f"test error {self.error:.2%}, log-loss {self.loss:.3f}, calibration error {self.calibration:.2%}"


def warp(images: Tensor, recipe: Recipe, random: torch.Generator) -> Tensor:
    """images (B, 1, H, W), a share of them warped: an output pixel at u takes its value from A u + t."""
    count = len(images)
    scale = torch.tensor([math.sqrt(3.0)] * 2 + [1.0], dtype=images.dtype) / math.sqrt(recipe.alpha * KAPPA)
    step = torch.randn(count, 2, 3, generator=random) * scale
    step *= (torch.rand(count, 1, 1, generator=random) < recipe.warped).to(images.dtype)
    theta = (torch.eye(2, 3) + step).to(images.device)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def train(images: Tensor, labels: Tensor, recipe: Recipe, seed: int) -> SmallNet:
    """images (n, 28, 28) uint8, labels (n,) → the trained network, on the device the images are on.

    First weights, order and warps are drawn on the CPU, the same everywhere; the last bits of the sums are not.
    """
    random = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):  # layers take their first weights from the global state
        torch.manual_seed(seed)
        net = SmallNet()
    net.to(images.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    steps = math.ceil(len(images) / BATCH)
    optimiser = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=recipe.rate, total_steps=steps * recipe.epochs, pct_start=0.2
    )
    for epoch in range(recipe.epochs):
        total = torch.zeros((), device=images.device)
        for rows in torch.split(torch.randperm(len(images), generator=random).to(images.device), BATCH):
            batch = images[rows, None].float() / 255
            if recipe.warped:
                batch = warp(batch, recipe, random)
            loss = F.cross_entropy(net(batch.contiguous(memory_format=torch.channels_last)), labels[rows])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
            total += loss.detach() * len(rows)
        progress = f"{recipe.name}: epoch {epoch + 1}/{recipe.epochs}, loss {float(total) / len(images):.4f}"
        print(progress, file=sys.stderr, flush=True)
    return net


@torch.inference_mode()
def score(net: nn.Module, images: Tensor, labels: Tensor) -> Score:
    """images (n, 28, 28) uint8, labels (n,)."""
    net.eval()
    log_probs = torch.cat([net(part[:, None].float() / 255).log_softmax(1) for part in torch.split(images, 1000)])
    confidence, predicted = log_probs.exp().max(1)
    right = (predicted == labels).double()
    bins = (confidence * 15).long().clamp(max=14)
    gap = torch.zeros(15, dtype=torch.float64).index_add(0, bins, right - confidence.double()).abs().sum() / len(labels)
    return Score(1 - float(right.mean()), float(F.nll_loss(log_probs, labels)), float(gap))


def save(net: SmallNet, recipe: Recipe, result: Score, made: Made, folder: Path) -> None:
    """Weights and where they come from, in one safetensors file."""
    facts = {
        "test_error": f"{result.error:.4f}",
        "test_log_loss": f"{result.loss:.4f}",
        "test_calibration_error": f"{result.calibration:.4f}",
        "epochs": str(recipe.epochs),
        "recipe": str(recipe),
        **made._asdict(),
        "data": "FashionMNIST, 60000 training images (Zalando SE, MIT)",
    }
    file = folder / f"{recipe.name}.safetensors"
    save_file({key: value.cpu().contiguous() for key, value in net.state_dict().items()}, file, metadata=facts)


def readme(lines: list[str], made: Made) -> str:
    recipes = "\n".join(f"- `{recipe.name}`: {recipe}." for recipe in RECIPES)
    printed = "\n".join(lines)
    return (
        "# The bundled classifiers\n"
        "Two networks of LeNet's size for FashionMNIST (1×28×28 in [0, 1] → 10 classes), made by\n"
        f"```\n{made.command}\n```\n"
        f"on {made.device} with torch {made.torch}. It printed, for the 10,000 test images:\n"
        f"```\n{printed}\n```\n"
        f"{recipes}\n\n"
        "The same figures stand in each file's metadata. FashionMNIST is © 2017 Zalando SE, MIT licence\n"
        "(`src/brittle/images/data/NOTICE`).\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m brittle.training.bundled", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("data", type=Path, help="folder with FashionMNIST's four idx files, plain or gzipped")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights and their README.md")
    parser.add_argument("--seed", type=int, default=0, help="seed of first weights, order and warps")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    options = parser.parse_args()
    torch.backends.cudnn.deterministic = True
    images, labels = (part.to(options.device) for part in read_split(options.data, "train"))
    test_images, test_labels = read_split(options.data, "t10k")
    options.out.mkdir(parents=True, exist_ok=True)
    made = Made.here(options.seed, options.device)
    lines = []
    for recipe in RECIPES:
        net = train(images, labels, recipe, options.seed).cpu()  # scored where most users will: no TF32
        result = score(net, test_images, test_labels)
        lines.append(f"{recipe.name}: {result}")
        print(lines[-1], flush=True)
        save(net, recipe, result, made, options.out)
    (options.out / "README.md").write_text(readme(lines, made), encoding="utf-8")


def read_split(folder: Path, split: str) -> tuple[Tensor, Tensor]:
    """Images (n, 28, 28) uint8 and labels (n,) int64 of `train` or `t10k`."""
    names = (f"{split}-images-idx3-ubyte", f"{split}-labels-idx1-ubyte")
    plain = [folder / name for name in names]
    images, labels = (read_idx(file if file.exists() else file.with_name(file.name + ".gz")) for file in plain)
    return torch.tensor(images), torch.tensor(labels).long()


if __name__ == "__main__":
    main()
