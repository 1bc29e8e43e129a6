"""The guard on a GPU: `python -m benchmarks.guard.gpu --out DIR`, which is `make bench-gpu`. Writes DIR/gpu.json.

1,000 images × 100 draws through `brittle.measure`, compiled, beside the compiled forward pass of the same network in
the same numbers; of a small network so many draws that they take a second. The eager pass, and the compiled one with
batch norms folded, are timed too, at the same batch. It keeps to a budget of minutes, the most telling cases first;
what there was no time for is named. torch, torchvision or timm and what Brittle imports are all it needs.
`--device cpu --tiny` tries the code where there is no GPU, without compiling.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

HERE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(HERE), str(HERE / "src")]  # also as a plain file, where nothing is installed

from benchmarks.guard import kernels  # noqa: E402
from benchmarks.guard.networks import cnn  # noqa: E402
from benchmarks.guard.surroundings import environment, load  # noqa: E402
from benchmarks.guard.turns import Case, Measured, Unequal, entry, measured, timed  # noqa: E402

NUISANCES = ("affine:alpha=50", "piecewise-affine", "occlusion", "noise:sigma=0.1", "fog", "jpeg")
NAMED = {"ResNet-50": "resnet50", "VGG-16": "vgg16", "ViT-B/16": "vit_b_16"}
TIMM = {"resnet50": "resnet50", "vgg16": "vgg16", "vit_b_16": "vit_base_patch16_224"}
SMALL = "CNN 32/64"
COMPILED = "compiled"
WORDS = {torch.bfloat16: "bf16", torch.float32: "float32"}
CLOSE = 1e-3  # of the spread of log p: what another order of operations makes of float32


@dataclass(frozen=True)
class Size:
    images: int
    draws: int
    small_draws: int  # of the small network
    side: int  # of large images
    batch: int
    small_batch: int
    turns: int  # of large networks; small ones take a few more
    seconds: float  # of a turn of the bare side
    compiles: bool = True  # for a CPU it takes minutes, and shows nothing


FULL = Size(1000, 100, 5000, 224, 512, 32768, 3, 1.0)
TINY = Size(8, 2, 2, 64, 8, 8, 2, 0.01, compiles=False)


@dataclass
class Subject:
    """A network, and what is measured of it."""

    name: str
    network: nn.Module
    numbers: torch.dtype
    channels: int
    side: int
    classes: int
    draws: int
    batch: int  # of the bare forward passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder that gpu.json goes to")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="next to nothing of everything, to try the code")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only cases whose name holds a word")
    parser.add_argument("--budget", type=float, default=500.0, help="seconds after which no further case is begun")
    asked = parser.parse_args()
    refuse_missing()
    bench = Bench(torch.device(asked.device), TINY if asked.tiny else FULL, time.monotonic() + asked.budget)
    warnings.simplefilter("ignore")
    for name, nuisances in plan(bench):
        wanted = [each for each in nuisances if not asked.only or any(word in f"{name}, {each}" for word in asked.only)]
        if wanted:
            bench.measure(name, wanted, asked.out)
    bench.written(asked.out)
    print(bench.table())


def plan(bench: Bench) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The most telling first."""
    yield "ResNet-50", NUISANCES
    yield SMALL, NUISANCES[:2]
    yield "ViT-B/16", NUISANCES[:2]
    yield "VGG-16", NUISANCES[:2]


class Bench:
    """What is measured on one device, until the time is up."""

    def __init__(self, device: torch.device, size: Size, until: float) -> None:
        self.device, self.size, self.until = device, size, until
        self.cases: dict[str, Measured] = {}
        self.skipped: dict[str, str] = {}
        self.bare: dict[str, dict[str, Any]] = {}
        torch.backends.cudnn.benchmark = True  # for both sides
        torch.backends.cudnn.allow_tf32 = False  # float32 is float32 on both sides
        self.finish: Callable[[], Any] = torch.cuda.synchronize if device.type == "cuda" else lambda: None

    def measure(self, name: str, nuisances: list[str], out: Path) -> None:
        """One network under some nuisances; what there is, is written after each, whatever comes next."""
        print(f"{name}: bare forward passes", file=sys.stderr, flush=True)
        try:
            subject = self.subject(name)
            ways = self.ways(subject)
        except Exception as error:  # no torchvision or timm, broken beside this torch, or no memory
            self.skipped |= {f"{name}, {each}": told(error) for each in nuisances}
            return
        for nuisance in nuisances:
            case = f"{name}, {nuisance}"
            if time.monotonic() > self.until:
                self.skipped[case] = "the time was up"
                continue
            print(f"{case}, {self.until - time.monotonic():.0f} s left", file=sys.stderr, flush=True)
            self.beside_bare(case, subject, nuisance, ways)
            self.written(out)
        torch.compiler.reset()

    def subject(self, name: str) -> Subject:
        torch.manual_seed(0)
        if name == SMALL:
            return Subject(name, cnn().eval(), torch.float32, 1, 28, 10, self.size.small_draws, self.size.small_batch)
        network = by_name(NAMED[name], self.size.side).to(self.device)
        subject = Subject(name, network, torch.bfloat16, 3, self.size.side, 1000, self.size.draws, self.size.batch)
        settle(network, self.images(subject)[0][:32].to(self.device).float().div(255))
        return subject

    def images(self, subject: Subject) -> tuple[Tensor, Tensor]:
        """uint8, as images come, and their labels: the same on every machine."""
        generator = torch.Generator().manual_seed(0)
        coarse = torch.rand(self.size.images, subject.channels, 8, 8, generator=generator)
        fine = nn.functional.interpolate(coarse, (subject.side, subject.side), mode="bilinear")
        return fine.mul(255).round().byte(), torch.arange(self.size.images) % subject.classes

    def ways(self, subject: Subject) -> dict[str, Callable[[], Any]]:
        """The bare forward pass in every way: what works through about a turn's time, by name; how many images that are
        stands in `bare`."""
        network = subject.network.to(self.device, subject.numbers, memory_format=torch.channels_last)
        pixels, _ = self.images(subject)
        resident = pixels[torch.arange(subject.batch) % len(pixels)].to(self.device).to(subject.numbers).div(255)
        batch = resident.contiguous(memory_format=torch.channels_last)
        backend = "inductor" if self.size.compiles else "eager"
        made = {COMPILED: torch.compile(network, backend=backend, dynamic=False), "eager": network}
        if folded := with_folded_norms(network):
            made["folded, compiled"] = torch.compile(folded, backend=backend, dynamic=False)
        found = {}
        self.bare[subject.name] = {}
        for way, module in made.items():
            rate = self.rate(partial(forward, module, batch), subject.batch)
            calls = max(1, round(self.size.seconds * rate / subject.batch))
            found[way] = partial(several, module, batch, calls)
            about = {"batch": subject.batch, "rate": float(f"{rate:.5g}"), "images": calls * subject.batch}
            self.bare[subject.name][way] = about
        return found

    def rate(self, work: Callable[[], Any], images: int) -> float:
        """Images per second, the best of a few after two to warm up."""
        for _ in range(2):
            work()
        return images / min(timed(work, self.finish)[0].wall for _ in range(3))

    def beside_bare(self, name: str, subject: Subject, nuisance: str, ways: dict[str, Callable[[], Any]]) -> None:
        """One case: a measurement against the compiled forward pass."""
        import brittle

        images, draws = self.size.images, subject.draws
        pixels, labels = (each.numpy() for each in self.images(subject))
        measure = partial(
            brittle.measure,
            *(as_measured(brittle, subject), (pixels, labels), nuisance),
            samples=draws,
            device=str(self.device),
            progress=False,
            **self.options(brittle, subject),
        )
        bare = self.bare[subject.name][COMPILED]
        count = images * (draws + 1)
        about = (
            f"{subject.name} in {str(subject.numbers).removeprefix('torch.')}, {images:,} images of "
            f"{subject.side}×{subject.side} × {draws:,} draws of {nuisance}, against its bare forward pass, compiled, "
            f"at batch {bare['batch']:,}"
        )
        case = Case(
            name=name,
            about=about,
            ours=measure,
            theirs=ways[COMPILED],
            equal=partial(self.equal, subject, pixels, labels, count),
            work=(count, bare["images"]),
        )
        try:
            turns = self.size.turns + (2 if subject.name == SMALL else 0)
            self.cases[name] = measured(case, turns, finish=self.finish)
        except Exception as error:  # sides that differ, or what is not there, give no number and end no other case
            self.skipped[name] = told(error)
            return
        self.cases[name].profile = kernels.shares(measure, self.device)

    def equal(self, subject: Subject, pixels: Any, labels: Any, count: int, found: Any, _: Any) -> str:
        """The classifier that was measured is the network: log p of the labels of untouched images."""
        import brittle

        if found["calls"] != count:
            raise Unequal(f"{subject.name}: {found['calls']} images were classified, and {count} were meant to be")
        some = min(64, len(labels))
        how: dict[str, Any] = {"device": str(self.device), "progress": False}
        how |= self.options(brittle, subject, brittle.clean)
        rows = brittle.clean(as_measured(brittle, subject), (pixels[:some], labels[:some]), **how).rows
        labels_there = torch.from_numpy(labels[:some]).to(self.device)[:, None]
        batch = torch.from_numpy(pixels[:some]).to(self.device).float().div(255)
        bare = batch.to(subject.numbers).contiguous(memory_format=torch.channels_last)
        log_p = forward(subject.network, bare).float().log_softmax(1)
        exact = forward(copy.deepcopy(subject.network).float(), batch).log_softmax(1)
        at_label, in_full = (each.gather(1, labels_there)[:, 0].cpu() for each in (log_p, exact))
        by_id = torch.from_numpy(rows["image"].to_numpy().copy())
        found_there = torch.from_numpy(rows["log_p_label"].to_numpy().copy())
        apart = float((in_full[by_id] - found_there).abs().max())
        rounding = float((in_full - at_label).abs().max())  # of the network's own numbers
        spread = float(exact.std())
        if not apart <= max(CLOSE * spread, 2 * rounding):
            raise Unequal(
                f"{subject.name}: log p of untouched images lies up to {apart:.3g} from that in float32, the bare "
                f"forward pass up to {rounding:.3g}, and all log p spread by {spread:.3g}"
            )
        return (
            f"log p(label) of {some} untouched images: up to {apart:.2g} from float32, the bare forward pass up to "
            f"{rounding:.2g}, where all log p spread by {spread:.2g}"
        )

    def options(self, brittle: Any, subject: Subject, function: Any = None) -> dict[str, Any]:
        """The network's precision, and compiled graphs, as far as this version of Brittle can be told."""
        known = inspect.signature(function or brittle.measure).parameters
        wanted = {"precision": WORDS[subject.numbers], "compile": "yes" if self.size.compiles else "no"}
        return {name: value for name, value in wanted.items() if name in known}

    def result(self) -> dict[str, Any]:
        gpu = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"
        around = environment(device=gpu, threads=torch.get_num_threads(), turns=self.size.turns, load=load())
        return {
            "environment": around | {"cuda": torch.version.cuda},
            "cases": {name: entry(each, "wall") for name, each in self.cases.items()},
            "bare": self.bare,
            "waits": {},
            "skipped": self.skipped,
        }

    def written(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.result(), indent=1, ensure_ascii=False) + "\n"
        (folder / "gpu.json").write_text(text, encoding="utf-8")

    def table(self) -> str:
        lines = [
            "| case | measure, images/s | ratio to bare, range | where the time goes |",
            "| --- | --- | --- | --- |",
        ]
        for name, each in self.result()["cases"].items():
            low, high = each["interval"]
            parts = ", ".join(f"{part} {share:.0%}" for part, share in list(each["profile"].items())[:5])
            ours = f"{each['rates']['ours']:,.0f}"
            lines.append(f"| {name} | {ours} | {each['ratio']:.3g} [{low:.3g}, {high:.3g}] | {parts} |")
        lines += ["", "| bare forward pass | batch | images/s |", "| --- | --- | --- |"]
        for name, ways in self.bare.items():
            lines += [f"| {name}, {way} | {each['batch']:,} | {each['rate']:,.0f} |" for way, each in ways.items()]
        lines += ["", *(f"left out: {name}: {why}" for name, why in self.skipped.items())]
        return "\n".join(lines)


def told(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def by_name(name: str, side: int) -> nn.Module:
    """With random weights, from torchvision or else from timm."""
    of_one_size = name.startswith("vit")
    try:
        from torchvision import models
    except Exception:  # missing, or broken beside this torch
        import timm

        size = {"img_size": side} if of_one_size else {}
        network: nn.Module = timm.create_model(TIMM[name], pretrained=False, **size)
        return network
    size = {"image_size": side} if of_one_size else {}
    made: nn.Module = getattr(models, name)(weights=None, **size)
    return made


@torch.no_grad()
def settle(network: nn.Module, images: Tensor) -> None:
    """Evaluation mode, after batch norms with random weights have seen images: outputs would overflow otherwise."""
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    momenta = [part.momentum for part in norms]
    if norms:
        for part in norms:
            part.momentum = None  # a plain mean
        network.train()
        network(images)
    for part, momentum in zip(norms, momenta, strict=True):
        part.momentum = momentum
    network.eval()


def refuse_missing() -> None:
    """In one line, where packages that Brittle imports are not there: a machine that nothing can be installed on."""
    try:
        import brittle

        _ = brittle.measure, brittle.clean
    except ModuleNotFoundError as error:
        raise SystemExit(f"Brittle imports {error.name}, which is not here: put it on PYTHONPATH") from None


def as_measured(brittle: Any, subject: Subject) -> nn.Module:
    """The network as it is given to Brittle: in float32 where Brittle itself is told the precision."""
    if "precision" in inspect.signature(brittle.measure).parameters:
        return copy.deepcopy(subject.network).float()
    return subject.network


def with_folded_norms(network: nn.Module) -> nn.Module | None:
    """The network with batch norms folded into convolutions; None where it has none, or can't be traced."""
    from torch.fx.experimental.optimization import fuse

    if not any(isinstance(part, nn.BatchNorm2d) for part in network.modules()):
        return None
    numbers = next(network.parameters()).dtype
    try:
        folded = fuse(copy.deepcopy(network).float())
    except Exception:  # whatever torch.fx can't trace
        return None
    made: nn.Module = folded.to(dtype=numbers, memory_format=torch.channels_last)
    return made


@torch.inference_mode()
def forward(module: nn.Module, batch: Tensor) -> Tensor:
    found: Tensor = module(batch)
    return found


def several(module: nn.Module, batch: Tensor, calls: int) -> None:
    for _ in range(calls):
        forward(module, batch).log_softmax(1)


if __name__ == "__main__":
    main()
