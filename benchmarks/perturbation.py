"""Targeted searches: all pairs at once beside one pair at a time, and what they find beside peers and exact minima.

    python benchmarks/perturbation.py [speed] [peers] [exact] [--device cpu] [--images 20] [--alone 20]

speed: pairs per second of the batched search and of the same search one pair at a time, on the same pairs in one run,
and how long the matrix of 10 classes takes. peers: the L∞ that Foolbox's LInfFMNAttack, ART's AutoPGD and torchattacks'
PGD (both with ε bisected) find for the same goal. They know no goal of one's own, so they get two logits, the
log-sum-exp of the others + ln 9 and z_t: there targeted misclassification is p(target) ≥ 0.9. exact: the gap to the
convex optimum for linear classifiers of several classes.
"""

from __future__ import annotations

import argparse
import io
import math
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize
import torch
from lenet import LeNet5
from torch import Tensor, nn

from brittle.classifiers import classifier
from brittle.classifiers.torch_module import TorchClassifier
from brittle.images import image_set
from brittle.measures.lanes import lane_size
from brittle.measures.perturbation.signs import sign_search
from brittle.measures.targeted_search import SearchGoal, SearchResult, adam_search

SHARE, STEPS = 0.9, 1000
RATES = (0.01, 0.005, 0.001)


class Pairs:
    """Images of the bundled sample with every other class as target."""

    def __init__(self, what: str | nn.Module, images: int, device: str) -> None:
        self.classifier: Any = (
            classifier(what, device=device) if isinstance(what, str) else TorchClassifier(what, device=device)
        )
        sample = image_set("sample")
        batch = sample.batch(list(range(0, 1000, max(1, 1000 // images)))[:images], device)
        self.classifier.check(batch.images[:8])
        with torch.no_grad():
            predicted = self.classifier.log_probs(batch.images).argmax(1)
        classes = len(self.classifier.labels)
        row = torch.arange(len(batch.images), device=device).repeat_interleave(classes - 1)
        slot = torch.arange(classes - 1, device=device).repeat(len(batch.images))
        self.origin = predicted[row]
        self.target = slot + (slot >= self.origin)
        self.images, self.device = batch.images[row], device

    def __len__(self) -> int:
        return len(self.images)

    def search(self, size: int, among: slice = slice(None), rate: float = 0.005) -> SearchResult:
        images = self.images[among]
        goal = SearchGoal(self.origin[among], self.target[among], SHARE)
        return adam_search(
            len(images), size, lambda pair: images[pair], lambda _, values: self.classifier.logits(values), goal,
            rate=rate, steps=STEPS, bounds=(0.0, 1.0),
        )  # fmt: skip


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def seconds(work: Callable[[], object], device: str, clock: str = "wall") -> float:
    if device != "cpu":
        torch.cuda.synchronize()
    begun = CLOCKS[clock]()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return CLOCKS[clock]() - begun


def speed(arguments: argparse.Namespace) -> None:
    """Turn by turn: a few pairs alone, then all at once. The small networks are trained here, for a few seconds."""
    device, clock, batch = arguments.device, arguments.clock, 512 if arguments.device == "cpu" else 8192
    size = lane_size(batch, device)
    networks = {"a perceptron, 784–64–10": trained(perceptron()), "LeNet-5": trained(LeNet5())}
    threads = f"{torch.get_num_threads()} threads"
    print(f"\ntorch {torch.__version__}, {device}, {threads}; {size} pairs stepped together; {clock}\n")
    print("| network | pairs | one at a time, pairs/s | batched, pairs/s | ratio, median (range) | matrix of 10, s |")
    print("| --- | ---: | ---: | ---: | --- | ---: |")
    for name, network in (networks | {"bundled:plain": "bundled:plain"}).items():
        pairs = Pairs(network, arguments.images, device)
        pairs.search(size, slice(0, 64))
        pairs.search(1, slice(0, 1))
        alone, batched = [], []
        for turn in range(arguments.turns):
            chosen = [(turn * arguments.alone + each) * 7 % len(pairs) for each in range(arguments.alone)]
            spent = sum(seconds(partial(pairs.search, 1, slice(at, at + 1)), device, clock) for at in chosen)
            alone.append(len(chosen) / spent)
            batched.append(len(pairs) / seconds(partial(pairs.search, size), device, clock))
        ratio = np.array(batched) / np.array(alone)
        matrix = seconds(partial(Pairs(network, 10, device).search, size), device, clock)
        print(
            f"| {name} | {len(pairs):,} | {np.median(alone):.1f} | {np.median(batched):.1f} "
            f"| {np.median(ratio):.1f} ({ratio.min():.1f} to {ratio.max():.1f}) | {matrix:.1f} |",
            flush=True,
        )


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def trained(network: nn.Module) -> nn.Module:
    """A few passes over the bundled sample: enough for confident answers, not for a good classifier."""
    torch.manual_seed(0)
    batch = image_set("sample").batch(list(range(1000)))
    optimiser = torch.optim.Adam(network.parameters(), 2e-3)
    for step in range(150):
        chosen = torch.arange(64) * 15 % 1000 + step % 15
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(batch.images[chosen]), batch.labels[chosen]).backward()
        optimiser.step()
    return network


class TwoLogits(nn.Module):
    """Logits (logsumexp of the others + ln 9, z_target): the second is the greater exactly where p(target) ≥ 0.9."""

    def __init__(self, classifier: Any, target: Tensor) -> None:
        super().__init__()
        self.module = classifier.module  # peers ask a network for its parameters
        self.logits, self.target = classifier.logits, target

    def forward(self, images: Tensor) -> Tensor:
        z = self.logits(images)
        assert len(images) in (1, len(self.target)), "a peer must see all pairs at once: each has a target of its own"
        target = self.target[: len(images), None]
        own = z.gather(1, target)
        others = z.scatter(1, target, -torch.inf).logsumexp(1, keepdim=True)
        return torch.cat((others + math.log(SHARE / (1 - SHARE)), own), 1)


def peers(arguments: argparse.Namespace) -> None:
    """Every method on the same pairs; sizes only of the pairs that all but the one-step methods reach."""
    pairs = Pairs("bundled:plain", arguments.images, arguments.device)
    found: dict[str, tuple[np.ndarray[Any, Any], float]] = {}
    methods: dict[str, Callable[[], Tensor]] = {
        f"Brittle, Adam, rate {rate:g}": partial(_ours, pairs, rate) for rate in RATES
    }
    methods |= {"Brittle, T-FGSM": partial(_signs, pairs, 1), "Brittle, I-FGSM, 10 steps": partial(_signs, pairs, 10)}
    methods |= {"Brittle, I-FGSM, 100 steps": partial(_signs, pairs, 100)}
    methods |= {"Foolbox LInfFMNAttack": partial(foolbox_fmn, pairs)}
    methods |= {"torchattacks PGD, ε bisected": partial(torchattacks_pgd, pairs)}
    methods |= {"ART AutoPGD, ε bisected": partial(art_apgd, pairs)}
    for name, method in methods.items():
        changed: list[Tensor] = []
        try:
            spent = seconds(lambda method=method, changed=changed: changed.append(method()), arguments.device)  # type: ignore[misc]
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        found[name] = sizes(pairs, changed[0]), spent
    sound = [each for name, (each, _) in found.items() if "T-FGSM" not in name]
    common = np.all([np.isfinite(each) for each in sound], 0)
    best = np.min([each for each, _ in found.values()], 0)
    print(f"\n{len(pairs)} pairs, {int(common.sum())} reached by all but T-FGSM; values held to [0, 1]; L∞ in %\n")
    print("| method | reached | mean L∞ | median L∞ | mean ÷ best of all | s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, (each, spent) in found.items():
        here = common & np.isfinite(each)
        ratio = (each[here] / best[here]).mean()
        print(
            f"| {name} | {int(np.isfinite(each).sum())} | {100 * each[here].mean():.2f} | "
            f"{100 * np.median(each[here]):.2f} | {ratio:.3f} | {spent:.1f} |"
        )


def _ours(pairs: Pairs, rate: float) -> Tensor:
    return pairs.search(128, rate=rate).values


def _signs(pairs: Pairs, iterations: int) -> Tensor:
    found = sign_search(
        len(pairs), 128, lambda pair: pairs.images[pair], lambda _, values: pairs.classifier.logits(values),
        SearchGoal(pairs.origin, pairs.target, SHARE), iterations=iterations, greatest=1.0, bounds=(0.0, 1.0),
    )  # fmt: skip
    return found.values


def sizes(pairs: Pairs, changed: Tensor) -> np.ndarray[Any, Any]:
    """L∞ of each change as judged here: infinite where p(target) < 0.9 or values leave [0, 1]."""
    with torch.no_grad():
        log_p = torch.cat([pairs.classifier.log_probs(part) for part in changed.split(512)])
    log_p = log_p.gather(1, pairs.target[:, None])[:, 0]
    linf = (changed - pairs.images).flatten(1).abs().amax(1)
    # A peer's answer that misses p = 0.9 by rounding counts.
    good = (log_p >= math.log(SHARE) - 1e-4) & (changed.flatten(1).amin(1) >= 0) & (changed.flatten(1).amax(1) <= 1)
    return torch.where(good, linf, torch.inf).double().cpu().numpy()


def foolbox_fmn(pairs: Pairs) -> Tensor:
    import eagerpy
    import foolbox

    model = foolbox.PyTorchModel(TwoLogits(pairs.classifier, pairs.target).eval(), (0, 1), device=pairs.device)
    criterion = foolbox.criteria.TargetedMisclassification(torch.ones_like(pairs.target))
    _, clipped, _ = foolbox.attacks.LInfFMNAttack(steps=STEPS)(model, pairs.images, criterion, epsilons=None)
    return clipped.raw if isinstance(clipped, eagerpy.Tensor) else clipped


def bisected(pairs: Pairs, attack: Callable[[float, Tensor], Tensor], halvings: int = 10) -> Tensor:
    """The attack at an ε for each pair, doubled until p(target) ≥ 0.9 and then bisected: attacks take one ε for all,
    so pairs of the same ε go together."""
    low = torch.zeros(len(pairs), device=pairs.device)
    high = torch.full_like(low, torch.inf)
    best = pairs.images.clone()
    epsilon = torch.full_like(low, 1 / 64)
    for _ in range(7 + halvings):
        for value in epsilon.unique().tolist():
            here = (epsilon == value).nonzero()[:, 0]
            changed = attack(value, here)
            with torch.no_grad():
                log_p = pairs.classifier.log_probs(changed).gather(1, pairs.target[here, None])[:, 0]
            reached = log_p >= math.log(SHARE)
            better, worse = here[reached], here[~reached]
            best[better] = changed[reached]
            high[better], low[worse] = value, value
        epsilon = torch.where(high.isinf(), (2 * epsilon).clamp(max=1), (low + high) / 2)
    return best


def torchattacks_pgd(pairs: Pairs) -> Tensor:
    import torchattacks

    def attack(epsilon: float, here: Tensor) -> Tensor:
        model = TwoLogits(pairs.classifier, pairs.target[here]).eval()
        made = torchattacks.PGD(model, eps=epsilon, alpha=epsilon / 10, steps=40, random_start=False)
        with redirect_stdout(io.StringIO()):  # it tells of every change of its mode
            made.set_mode_targeted_by_function(lambda images, labels: labels)
        found: Tensor = made(pairs.images[here], torch.ones_like(here))
        return found

    return bisected(pairs, attack, halvings=6)


def art_apgd(pairs: Pairs) -> Tensor:
    from art.attacks.evasion import AutoProjectedGradientDescent
    from art.estimators.classification import PyTorchClassifier

    def attack(epsilon: float, here: Tensor) -> Tensor:
        model = TwoLogits(pairs.classifier, pairs.target[here]).eval()
        estimator = PyTorchClassifier(
            model, loss=nn.CrossEntropyLoss(), input_shape=tuple(pairs.images.shape[1:]), nb_classes=2,
            clip_values=(0, 1), device_type="cpu" if pairs.device == "cpu" else "gpu",
        )  # fmt: skip
        made = AutoProjectedGradientDescent(
            estimator, eps=epsilon, eps_step=epsilon / 4, max_iter=40, nb_random_init=1, targeted=True,
            loss_type=None, batch_size=len(here), verbose=False,
        )  # fmt: skip
        labels = np.eye(2, dtype=np.float32)[np.ones(len(here), int)]
        found = made.generate(pairs.images[here].cpu().numpy(), labels)
        return torch.from_numpy(found).to(pairs.device)

    return bisected(pairs, attack, halvings=6)


def exact(arguments: argparse.Namespace) -> None:
    """Linear classifiers of K classes on d numbers, weights N(0, 1)/√d·8, unclipped."""
    print("\n| classes | numbers | rate | L∞ ÷ exact minimum, mean (range) |")
    print("| ---: | ---: | ---: | --- |")
    for classes, numbers in ((2, 100), (3, 100), (10, 100), (10, 784)):
        draws = torch.Generator().manual_seed(classes + numbers)
        weights = 8 / math.sqrt(numbers) * torch.randn(numbers, classes, generator=draws)
        images = torch.rand(20, 1, 1, numbers, generator=draws)
        origin = (images.flatten(1) @ weights).argmax(1)
        target = (origin + 1) % classes
        least = np.array([_convex(weights, images[at], int(target[at])) for at in range(20)])
        for rate in (0.01, 0.001):
            found = adam_search(
                20, 20, lambda pair, images=images: images[pair],  # type: ignore[misc]
                lambda _, values, weights=weights: values.flatten(1) @ weights,  # type: ignore[misc]
                SearchGoal(origin, target, SHARE), rate=rate, steps=20000,
            )  # fmt: skip
            gap = found.linf.numpy() / least
            assert bool(found.reached.all())
            print(
                f"| {classes} | {numbers} | {rate:g} | {gap.mean():.3f} ({gap.min():.3f} to {gap.max():.3f}) |",
                flush=True,
            )


def _convex(weights: Tensor, image: Tensor, target: int) -> float:
    """min ε such that the margin, concave in the change, reaches ln 9 on the box: a bisected bounded maximisation."""
    w, x = weights.double().numpy(), image.flatten().double().numpy()
    others = [place for place in range(w.shape[1]) if place != target]

    def lacking(change: Any) -> tuple[float, Any]:
        z = (x + change) @ w
        part = np.exp(z[others] - np.logaddexp.reduce(z[others]))
        return float(np.logaddexp.reduce(z[others]) - z[target]), w[:, others] @ part - w[:, target]

    def excess(epsilon: float) -> float:
        box = [(-epsilon, epsilon)] * len(x)
        found = scipy.optimize.minimize(lacking, np.zeros(len(x)), jac=True, bounds=box, options={"ftol": 1e-13})
        return float(-found.fun - math.log(SHARE / (1 - SHARE)))

    return float(scipy.optimize.brentq(excess, 0, 10, xtol=1e-9))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["speed", "peers", "exact"], help="speed, peers, exact")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--images", type=int, default=20, help="9 pairs each")
    parser.add_argument("--alone", type=int, default=20, help="pairs per turn that are searched one at a time")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="processor: for a machine that is shared")
    arguments = parser.parse_args()
    for part in arguments.parts:
        {"speed": speed, "peers": peers, "exact": exact}[part](arguments)


if __name__ == "__main__":
    main()
