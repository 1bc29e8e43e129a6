"""The command line. Nothing heavy is imported before a command needs it: `brittle --help` knows no torch."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from brittle.errors import BrittleError

app = typer.Typer(
    help="How brittle is an image classifier, where does it break, and what does that look like.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …; a GPU where there is one.")]
BatchSize = Annotated[int | None, typer.Option("--batch", min=1, help="Images classified at once.")]


def main() -> None:
    """The entry point: a mistake is one line on standard error, never a traceback."""
    if "" not in sys.path:
        sys.path.insert(0, "")  # a user's own module beside them, as with `python -m`
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        if status == INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.exit(status or 0)
    except BrittleError as error:
        _complain(str(error), error.exit_status)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted; the same command with the same --out goes on from its finished units", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is not None:
            _complain(usage(), 2)
        if os.environ.get("BRITTLE_TRACEBACK"):
            raise
        first = (str(error).splitlines() or [""])[0]
        _complain(f"{type(error).__name__}: {first} (set BRITTLE_TRACEBACK=1 to see where)", 1)


def _complain(text: str, status: int) -> None:
    print(f"brittle: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(status)


def _version(wanted: bool) -> None:
    if wanted:
        from brittle import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the run folder and its report go.")] = Path("demo"),
    device: Device = None,
    batch: BatchSize = None,
) -> None:
    """Measure two bundled classifiers on bundled images, and write a report."""
    from importlib import resources

    with resources.as_file(resources.files("brittle") / "demo.toml") as study:
        run(study, out, device, batch)


@app.command()
def measure(
    classifier: Annotated[
        str, typer.Argument(help="A classifier's spec, such as onnx:model.onnx or mine=bundled:plain.")
    ],
    images: Annotated[
        str, typer.Argument(help="An image set's spec, such as folder:photos,size=256,crop=224 or sample.")
    ],
    nuisance: Annotated[str, typer.Option(help="A nuisance's spec, such as affine:alpha=50.")],
    count: Annotated[
        int | None, typer.Option("--images", min=1, help="How many images, drawn by the seed; all by default.")
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Draws of θ per image.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Stop when the interval's half-width is this small.")] = None,
    estimand: Annotated[str, typer.Option(help="What ρ is of: population, set or drawn.")] = "population",
    confidence: Annotated[float, typer.Option(help="Of every interval.")] = 0.95,
    worst_of: Annotated[int, typer.Option(min=1, help="k of worst-of-k accuracy.")] = 10,
    extra: Annotated[str, typer.Option(help="Also report any of nll/ece/top5.")] = "",
    where: Annotated[list[str] | None, typer.Option(help="Only images with column=value; may be repeated.")] = None,
    ids: Annotated[str, typer.Option(help="Only images with these ids: 3/17/240.")] = "",
    against: Annotated[
        list[str] | None, typer.Option(help="Compare with this classifier, paired; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Keep the run and its report in this folder.")] = None,
    device: Device = None,
    batch: BatchSize = None,
    as_json: Json = False,
) -> None:
    """Measure ρ of a classifier under a nuisance, with an interval."""
    from brittle.api import study_of
    from brittle.report.console import print_found

    study = study_of(
        [classifier, *(against or ())],
        images,
        nuisance,
        count=count,
        where=where or [],
        ids=_numbers(ids),
        seed=seed,
        wanted={
            "robustness": {
                "samples": samples,
                "tolerance": tolerance,
                "estimand": estimand,
                "confidence": confidence,
                "worst-of": worst_of,
                "extra": [word for word in extra.split("/") if word],
            }
        },
    )
    found = _carry_out(study, out, device, batch)
    path = None if out is None else _write_report(out)
    first = found["results"][0]
    if as_json:
        also = {"others": found["results"][1:]} | {key: found[key] for key in ("comparisons", "warnings", "skipped")}
        print(json.dumps(first | also))
        return
    print_found(found)
    if path is not None:
        print(f"report: {path}")


@app.command()
def sample(
    classifier: Annotated[str, typer.Argument(help="A classifier's spec, such as onnx:model.onnx.")],
    images: Annotated[str, typer.Argument(help="An image set's spec, such as folder:photos or sample.")],
    nuisance: Annotated[str, typer.Option(help="A nuisance's spec, such as affine:alpha=100.")],
    count: Annotated[int, typer.Option("--images", min=1, help="How many images, drawn by the seed.")] = 20,
    sampler: Annotated[str, typer.Option(help="How to draw: see `brittle list samplers`.")] = "auto",
    budget: Annotated[int, typer.Option(min=1, help="Classifier calls an image, for populations.")] = 2000,
    chains: Annotated[int, typer.Option(min=1, help="Chains an image, for samplers that walk.")] = 8,
    steps: Annotated[int, typer.Option(min=1, help="Steps a chain after burn-in.")] = 1000,
    burn_in: Annotated[int, typer.Option(min=0, help="Steps before, in which step sizes adapt.")] = 500,
    start: Annotated[str, typer.Option(help="Chains start at a prior draw or at the worst of some.")] = "worst",
    tries: Annotated[int, typer.Option(min=1, help="Prior draws that a chain looks at for its start.")] = 64,
    keep: Annotated[int, typer.Option(min=1, help="Draws kept an image.")] = 200,
    where: Annotated[list[str] | None, typer.Option(help="Only images with column=value; may be repeated.")] = None,
    ids: Annotated[str, typer.Option(help="Only images with these ids: 3/17/240.")] = "",
    against: Annotated[
        list[str] | None, typer.Option(help="Also sample this classifier, on the same images; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Keep the draws and a report with pictures in this folder.")] = None,
    device: Device = None,
    batch: BatchSize = None,
    as_json: Json = False,
) -> None:
    """Sample where a classifier breaks: draws from p(θ | not the label, x)."""
    from brittle.api import study_of
    from brittle.report.console import print_found

    numbers = _numbers(ids)
    options = {
        "sampler": sampler,
        "budget": budget,
        "chains": chains,
        "steps": steps,
        "burn-in": burn_in,
        "start": start,
        "tries": tries,
        "keep": keep,
        "images": len(numbers) or count,
    }
    study = study_of(
        [classifier, *(against or ())],
        images,
        nuisance,
        count=None if numbers else count,
        where=where or [],
        ids=numbers,
        seed=seed,
        wanted={"weak-points": options},
    )
    found = _carry_out(study, out, device, batch)
    path = None if out is None else _write_report(out)
    first, *others = found["weak_points"]
    if as_json:
        print(json.dumps(first | {"others": others} | {key: found[key] for key in ("warnings", "skipped")}))
        return
    print_found(found)
    if path is not None:
        print(f"report: {path}")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", "/").split("/") if part]
    except ValueError:
        raise BrittleError(f"--ids {text!r} are not whole numbers", "Write them as 3/17/240.") from None


def _carry_out(study: Any, out: Path | None, device: str | None, batch: int | None) -> dict[str, Any]:
    from brittle.api import run as run_study
    from brittle.progress import Bar

    with Bar() as progress:
        found = run_study(study, out, device=device, batch=batch, progress=progress)
    for warning in found["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    return found


@app.command()
def run(
    study: Annotated[Path, typer.Argument(help="A study file (TOML).")],
    out: Annotated[Path, typer.Option(help="The run folder; an existing one is resumed.")],
    device: Device = None,
    batch: BatchSize = None,
    as_json: Json = False,
) -> None:
    """Carry a study out into a folder, or go on with what is there, and write its report."""
    from brittle.report.console import print_found

    found = _carry_out(study, out, device, batch)
    path = _write_report(out)
    if as_json:
        print(json.dumps(found | {"report": str(path)}))
    else:
        print_found(found)
        print(f"report: {path}")


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="A run folder.")]) -> None:
    """Write the HTML report of a run."""
    print(f"report: {_write_report(folder)}")


def _write_report(folder: Path) -> Path:
    from brittle.report.html import write_report

    return write_report(folder)


@app.command()
def train(
    network: Annotated[str, typer.Argument(help="A network's spec, such as cnn-2, cnn-2-stn or cnn-1-da:shift=4.")],
    images: Annotated[str, typer.Argument(help="The training images' spec, such as idx:images.gz,labels=labels.gz.")],
    out: Annotated[Path, typer.Option(help="The file of weights, .safetensors; one half done is gone on with.")],
    test: Annotated[str | None, typer.Option(help="Images whose error is printed once training is over.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="How often every image is seen.")] = None,
    seed: Annotated[int, typer.Option(help="Of first weights, order, augmentation and dropout.")] = 0,
    device: Device = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Images a step.")] = None,
    rate: Annotated[float | None, typer.Option("--lr", help="Learning rate.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="float32, or bfloat16: for large networks on a GPU; weights stay float32.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a network by name, or go on with it, and print its test error. Its own recipe says what isn't given."""
    from brittle.progress import Bar
    from brittle.training import train as train_into

    with Bar() as progress:
        found = train_into(
            network,
            images,
            out,
            test=test,
            epochs=epochs,
            seed=seed,
            device=device,
            batch_size=batch_size,
            rate=rate,
            precision=precision,
            progress=progress,
        )
    if as_json:
        print(json.dumps(found))
        return
    times = f"{found['epochs']} epoch{'' if found['epochs'] == 1 else 's'}"
    print(f"{found['network']}: {times} of {found['images']} images, loss {found['loss']:.4f}")
    if found["test_error"] is not None:
        print(f"test error: {found['test_error']:.2%} of {found['test_images']} images")
    print(f"classifier: {found['classifier']}")


@app.command()
def harden(
    classifier: Annotated[
        str, typer.Argument(help="The spec of a torch module, such as torch:package.module:factory,weights=….")
    ],
    images: Annotated[str, typer.Argument(help="Labelled images' spec, such as folder:photos; split into parts.")],
    nuisance: Annotated[str, typer.Option(help="A nuisance's spec, such as affine:alpha=100.")],
    out: Annotated[
        Path, typer.Option(help="The folder for weights, rounds and report; one half done is gone on with.")
    ],
    test: Annotated[
        str | None,
        typer.Option(help="Images that choose the round and measure before and after; parts of IMAGES by default."),
    ] = None,
    on: Annotated[str, typer.Option(help="Train on weak-points, or on plain draws of the prior.")] = "weak-points",
    loss: Annotated[
        str, typer.Option(help="How weak points count: equal, or corrected so that the mean loss is the prior's.")
    ] = "corrected",
    rounds: Annotated[int, typer.Option(min=1, help="How often weak points are sampled and trained on.")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="Gradient steps a round.")] = 300,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a gradient step.")] = 128,
    share: Annotated[float, typer.Option(help="Share of weak points in a batch; the others are clean images.")] = 0.5,
    anchor: Annotated[
        float, typer.Option(help="Share of the untouched classifier's answer in what weak points are trained to.")
    ] = 0.5,
    sampled: Annotated[int, typer.Option(min=1, help="Training images a round whose weak points are sampled.")] = 5000,
    calls: Annotated[int, typer.Option(min=1, help="Classifier calls a round in sampling.")] = 40_000,
    sampler: Annotated[str, typer.Option(help="How weak points are drawn: importance, adaptive, smc, auto.")] = (
        "importance"
    ),
    held_out: Annotated[
        float, typer.Option(help="Share of IMAGES that chooses the round; as many measure before and after.")
    ] = 0.2,
    ways: Annotated[
        str, typer.Option(help="How far from the untouched weights to a round's own the candidates lie: a/b/c.")
    ] = "0.5/0.75/1",
    cost: Annotated[
        float, typer.Option(help="Clean accuracy that a candidate may lose on the held-out images.")
    ] = 0.01,
    samples: Annotated[int, typer.Option(min=1, help="Draws of θ an image in measuring before and after.")] = 100,
    rate: Annotated[
        float | None, typer.Option("--lr", help="Learning rate; 0.001, or 0.0003 with fewer than 5000 training images.")
    ] = None,
    decay: Annotated[float, typer.Option(help="Weight decay.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Fine-tune a classifier on its weak points, choose a round, and measure before and after."""
    from brittle.api import harden as harden_into
    from brittle.progress import Bar
    from brittle.registry import convert
    from brittle.report.harden_console import print_criterion, print_hardened

    settings = {
        "on": on,
        "loss": loss,
        "rounds": rounds,
        "steps": steps,
        "batch_size": batch_size,
        "share": share,
        "anchor": anchor,
        "sampled": sampled,
        "calls": calls,
        "sampler": sampler,
        "held_out": held_out,
        "ways": convert(ways.replace(",", "/"), tuple[float, ...], "--ways"),
        "cost": cost,
        "samples": samples,
        "rate": rate,
        "decay": decay,
    }
    if not as_json:
        print_criterion(settings)
    with Bar() as progress:
        done = harden_into(
            classifier, images, nuisance, out, test=test, seed=seed, device=device, progress=progress, **settings
        )
    for warning in done.summary["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    path = None if done.summary["classifier"] is None else _write_report(out)
    if as_json:
        print(json.dumps(done.summary | {"report": None if path is None else str(path)}))
        return
    print_hardened(done)
    if path is not None:
        print(f"report: {path}")


@app.command("list")
def list_kinds(
    what: Annotated[
        str, typer.Argument(help="classifiers, images, nuisances, measures, samplers or networks; all by default.")
    ] = "",
    as_json: Json = False,
) -> None:
    """List every kind of classifier, image set, nuisance, measure, sampler and network, with its options."""
    from brittle.report.listing import listing, print_listing

    found = listing(what)
    if as_json:
        print(json.dumps(found))
    else:
        print_listing(found)
