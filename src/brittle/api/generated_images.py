"""The out-of-class filter, and what labels of generated images say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle.api.notices import progress_shown, unshown_notes, warn
from brittle.device import pick_device
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.generation.filter.options import FilterInputs, FilterOptions
from brittle.generation.labels.options import LabelInputs, LabelOptions
from brittle.registry.options import checked

if TYPE_CHECKING:
    from brittle.generation.stored import StoredImages
    from brittle.results import FilteredBenchmark, LabelledBenchmark


def filter_asked(given: Mapping[str, Any]) -> FilteredBenchmark:
    """What `brittle.filter` does with its arguments, by name."""
    from brittle.generation.filter.filter import filter_benchmark  # transformers, when something is filtered
    from brittle.results import FilteredBenchmark

    what, options = _made(FilterInputs, given), _made(FilterOptions, given)
    notes: list[str] = []
    with progress_shown(given["progress"]) as seen:
        found = filter_benchmark(what, options, str(pick_device(given["device"])), seen, notes.append)
    warn([*unshown_notes(seen), *notes])
    return FilteredBenchmark(**vars(found))


def labels_of(
    folder: str | Path, labels: str | Path, *, annotations: str | Path | None = None, confidence: float = 0.95
) -> LabelledBenchmark:
    """What the labels in a folder say of a benchmark's images: how many are out of class, who agrees, and whether
    shifts are seen. `annotations` restricts them to the images that a file lists."""
    from brittle.generation.labels.store import read_labels
    from brittle.generation.labels.summary import summary_of
    from brittle.generation.stored import stored_images
    from brittle.results import LabelledBenchmark

    if not 0 < confidence < 1:
        raise BrittleError(f"confidence is {confidence}", "Give a number between 0 and 1, such as 0.95.")
    images = stored_images(str(folder), None if annotations is None else str(annotations))
    found = summary_of(read_labels(Path(real_path(str(labels)))), images.files, confidence)
    return LabelledBenchmark(**vars(found))


def chosen_images(what: LabelInputs, options: LabelOptions) -> StoredImages:
    """The images that are to be labelled."""
    from brittle.generation.stored import drawn, stored_images

    images = stored_images(what.folder, what.annotations)
    return images if options.count is None else drawn(images, options.count, options.seed)


def proxy_labels(what: LabelInputs, options: LabelOptions, device: str | None, progress: bool) -> None:
    """Has classifiers stand in for people."""
    from brittle.generation.labels.proxy import label_by_proxy

    with progress_shown(progress or None) as seen:
        folder = Path(real_path(what.out))
        label_by_proxy(
            chosen_images(what, options), options.proxy, options.partly, folder, str(pick_device(device)), seen
        )


def _made(kind: type[Any], given: Mapping[str, Any]) -> Any:
    values = {key: given[key] for key in kind.__dataclass_fields__ if given.get(key) is not None}
    paths = {key: str(value) if isinstance(value, Path) else value for key, value in values.items()}
    return kind(**checked(kind, paths, "filter"))
