"""What is measured of the networks of each part: studies, carried out by `brittle.run`.

One distorted version of every test image, as in the paper. Occlusion is measured at five shares, on all test images and
on as many training images. Where the paper does not say how large Fourier masks are, they are as large as the patches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import data
import gather
import numpy as np
import plan
import stimuli

import brittle
import training
from brittle.registry import written
from brittle.training.plan import random_labels

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
TRAIN_COUNT = 10_000
LARGE = "law=uniform,low=0.7,high=1"
OTHER = "mnist"  # the set that textures come from


def nuisances(settings: training.Settings) -> dict[str, str]:
    """Every distortion of the tables, by the name that the page uses."""
    texture = f"texture={written(data.mnist(settings.data, 't10k'))}"
    return {
        **{f"shuffle-{grid}": f"shuffle:grid={grid},moves=permutation" for grid in (2, 4, 7, 14)},
        "patch": f"patch:{LARGE},place=overhanging",
        "patch-side": f"patch:{LARGE},place=overhanging,of=side",
        "patch-mnist": f"patch:{LARGE},place=overhanging,{texture}",
        "patch-inside": "patch:law=uniform",
        "patch-inside-beta": "patch:law=beta",
        "fourier": f"fourier-mask:{LARGE}",
        "fourier-mnist": f"fourier-mask:{LARGE},{texture}",
        "patch-30-mnist": f"patch:share=0.3,{texture}",
        "noise": "varying-noise",
    }


def occluders(settings: training.Settings) -> dict[str, str]:
    texture = f"texture={written(data.mnist(settings.data, 't10k'))}"
    return {
        "cam": "salient:share=0.5",
        "cam-mnist": f"salient:share=0.5,{texture}",
        "rectangle": "patch:share=0.5",
        "rectangle-mnist": f"patch:share=0.5,{texture}",
        "fourier": "fourier-mask:share=0.5",
        "tiles": "tiles:share=0.5",
    }


def _classifiers(networks: Sequence[plan.Network], settings: training.Settings) -> dict[str, Any]:
    found = {}
    for network in networks:
        facts = training.facts_of(settings, network)
        attributes = {key: facts[key] for key in ("diversity", "mix_diversity") if facts.get(key) is not None}
        found[network.name] = {"spec": facts["classifier"], "group": network.group, **attributes}
    return found


def _sets(train: str, test: str, small: bool) -> dict[str, Any]:
    return {
        "test": {"spec": test, "train": "train"} | ({"count": 30} if small else {}),
        "train": {"spec": train, "count": 30 if small else TRAIN_COUNT},
    }


def _study(
    networks: Sequence[plan.Network],
    settings: training.Settings,
    images: dict[str, Any],
    spaces: dict[str, str],
    **measures: Any,
) -> dict[str, Any]:
    return {
        "classifiers": _classifiers(networks, settings),
        "images": images,
        "nuisances": spaces,
        "measures": {name.replace("_", "-"): options for name, options in measures.items()},
    }


def _distorted(
    networks: Sequence[plan.Network], settings: training.Settings, names: Sequence[str] = ()
) -> dict[str, Any]:
    every = nuisances(settings)
    spaces = {name: every[name] for name in names or every}
    _, test = training.specs(settings, networks[0])
    images = {"test": {"spec": test} | ({"count": 30} if settings.small else {})}
    return _study(
        networks,
        settings,
        images,
        spaces,
        robustness={"kind": "robustness", "samples": 1},
        interference={"kind": "interference"},
    )


def _occluded(
    networks: Sequence[plan.Network],
    settings: training.Settings,
    names: Sequence[str],
    shares: Sequence[float] = SHARES,
    images: dict[str, Any] | None = None,
) -> dict[str, Any]:
    every = occluders(settings)
    if images is None:
        whole = data.fashion(settings.data, "train"), data.fashion(settings.data, "t10k")
        train, test = whole if networks[0].images == plan.FASHION else training.specs(settings, networks[0])
        images = _sets(train, test, settings.small)
    return _study(
        networks,
        settings,
        images,
        {name: every[name] for name in names},
        occlusion={"kind": "occlusion", "shares": list(shares)},
    )


def removed(out: Path) -> int:
    """The class to which the errors of textured patches went, as the main part has found; Bag before it is there."""
    rows = gather.read(out, "main", "interference")
    tops = [row["top_class"] for row in rows if row["group"] == "mixup" and row["nuisance"] == "patch-mnist"]
    return list(data.FASHION_LABELS).index(tops[0]) if tops else data.BAG


def _random_sets(network: plan.Network, settings: training.Settings) -> dict[str, Any]:
    """The images that a network with random labels was trained on, with those labels, and test images with others."""
    pair = {}
    for name, spec in zip(("train", "test"), training.specs(settings, network), strict=True):
        held = training.held(spec, "cpu")
        labels = random_labels(held, len(data.FASHION_LABELS), network.seed).labels
        file = settings.work / f"random-{network.seed}-{name}.npz"
        pixels = (held.set.batch(range(len(held))).images * 255).round().byte().numpy()
        np.savez(file, images=pixels, labels=labels.numpy(), ids=held.set.ids.numpy())
        pair[name] = f"npz:{file}"
    return _sets(pair["train"], pair["test"], settings.small)


def scores(settings: training.Settings, out: Path) -> dict[str, Path]:
    """For every image of both splits the share of the half-trained networks that get it right without having seen it,
    and whether that makes it typical (all of them) or tail (at most half of them)."""
    files = {}
    for split in ("train", "t10k"):
        whole = training.held(data.fashion(settings.data, split), settings.device)
        right, asked = np.zeros(len(whole)), np.zeros(len(whole))
        for network in plan.part("halves", small=settings.small):
            classifier = brittle.classifier(training.facts_of(settings, network)["classifier"], device=settings.device)
            seen = set(data.load(training.specs(settings, network)[0]).ids.tolist()) if split == "train" else set()
            unseen = np.array([each not in seen for each in whole.set.ids.tolist()])
            said = np.concatenate(
                [
                    classifier.log_probs(whole.batch(rows).images).argmax(1).cpu().numpy()
                    for rows in np.array_split(np.arange(len(whole)), 30)
                ]
            )
            right += unseen & (said == whole.labels.cpu().numpy())
            asked += unseen
        share = right / np.maximum(asked, 1)
        kind = np.where(share == 1, "typical", np.where(share <= 0.5, "tail", "between"))
        files[split] = out / f"typical-{split}.csv"
        lines = [
            f"{id},{value:.3f},{word}" for id, value, word in zip(whole.set.ids.tolist(), share, kind, strict=True)
        ]
        files[split].write_text("\n".join(["id,score,kind", *lines]) + "\n", encoding="utf-8")
    return files


def _typical(networks: Sequence[plan.Network], settings: training.Settings) -> dict[str, Any]:
    """Figures 4 and 6: the same measure on typical and on tail images."""
    files = scores(settings, settings.work)
    images = {}
    for kind in ("typical", "tail"):
        for name, split in ((kind, "t10k"), (f"{kind}-train", "train")):
            entry: dict[str, Any] = {
                "spec": data.fashion(settings.data, split),
                "columns": str(files[split]),
                "where": [f"kind={kind}"],
                "count": 20 if settings.small else 3000,
            }
            images[name] = entry | ({"train": f"{kind}-train"} if name == kind else {})
    chosen = [each for each in networks if each.group in ("basic", "fmix")]
    return _occluded(chosen, settings, ("rectangle", "cam"), images=images)


def _shapes(network: plan.Network, settings: training.Settings) -> dict[str, Any]:
    """Tables 2 and 13 in kind: shape against texture, and how well textures are told by themselves."""
    files = stimuli.written(settings.data / "fashion-mnist", settings.work, 2 if settings.small else stimuli.OF_EACH)
    images = {
        name: {"spec": f"npz:{file},classes={data.CLASSES}"}
        for name, file in zip(("stimuli", "textures"), files, strict=True)
    }
    asked = {"kind": "cue-conflict", "images": ["stimuli"]}
    return _study([network], settings, images, {}, cue_conflict=asked, clean={"kind": "clean"})


def _affinity(networks: Sequence[plan.Network], settings: training.Settings, reference: str) -> dict[str, Any]:
    """Table 6."""
    test = {"test": {"spec": data.fashion(settings.data, "t10k")} | ({"count": 30} if settings.small else {})}
    asked = {"kind": "augmentation", "of": ["mixup", "fmix", "cutmix"], "reference": reference}
    return _study(networks, settings, test, {}, augmentation=asked)


def _by_itself(part: str, network: plan.Network, settings: training.Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything about one network, as a model of one run."""
    found = {}
    if part == "recipe":
        occluders = ("cam", "cam-mnist", "rectangle", "rectangle-mnist")
        found["distorted"] = _distorted([network], settings)
        found["occluded"] = _occluded([network], settings, occluders)
        if network.group.startswith("basic"):
            found["affinity"] = _affinity([network], settings, network.name)
    elif part != "both-ways":  # whose test accuracies say it all
        found["distorted"] = _distorted([network], settings, ("shuffle-2", "shuffle-4", "patch"))
    if part in ("recipe", "stimuli", "converged"):
        found["shapes"] = _shapes(network, settings)
    for name, study in found.items():
        study["classifiers"][network.name]["group"] = network.name
        yield f"{network.name}-{name}", study


def planned(
    part: str, networks: Sequence[plan.Network], settings: training.Settings
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The studies of a part."""
    if part == "main":
        yield "distorted", _distorted(networks, settings)
        yield "occluded", _occluded(networks, settings, list(occluders(settings)))
        yield "typical", _typical(networks, settings)
    elif part == "architectures":
        yield "distorted", _distorted(networks, settings, ("shuffle-2", "shuffle-4", "patch"))
    elif part == "reduced":
        yield "distorted", _distorted(networks, settings, ("patch-mnist", "patch"))
    elif part == "long":
        yield "occluded", _occluded(networks, settings, ("cam", "cam-mnist", "rectangle", "rectangle-mnist"))
        yield "affinity", _affinity(networks, settings, "basic-long")
    elif part in plan.BY_ITSELF:
        for network in networks:
            yield from _by_itself(part, network, settings)
    elif part == "small":
        yield "occluded", _occluded(networks, settings, ("cam", "rectangle"), (0.3,))
    elif part == "random":
        for seed in sorted({each.seed for each in networks}):
            own = [each for each in networks if each.seed == seed]
            yield (
                f"occluded-{seed}",
                _occluded(own, settings, ("cam", "rectangle"), images=_random_sets(own[0], settings)),
            )


def carried_out(
    part: str, networks: Sequence[plan.Network], settings: training.Settings, batch: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What every run of a part says. The runs themselves stay in the work folder with their reports, and are resumed
    there; where networks are measured each by itself, a run takes a minute and its tables are all that is kept."""
    for name, study in planned(part, networks, settings):
        folder = None if part in plan.BY_ITSELF else settings.work / "runs" / f"{part}-{name}"
        yield name, dict(brittle.run(study, out=folder, device=settings.device, batch=batch))
