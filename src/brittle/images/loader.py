"""A torch DataLoader as the items behind it: what it would load, one by one and in the dataset's own order."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, SubsetRandomSampler
from torch.utils.data.dataloader import default_collate

from brittle.errors import BrittleError
from brittle.images.items import class_names_of


class LoaderItems:
    """The items of a DataLoader. What its `collate_fn` does to a batch is done to each of them."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.dataset, self.collate = loader.dataset, loader.collate_fn
        self.places = places_of(loader)
        self.classes = class_names_of(self.dataset)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: int) -> Any:
        made = self.collate([self.dataset[self.places[place]]])
        return {key: each[0] for key, each in made.items()} if hasattr(made, "items") else [each[0] for each in made]


def items_of(loader: DataLoader[Any]) -> Any:
    """The dataset itself where the loader only makes batches of it."""
    known = LoaderItems(loader)
    whole = list(known.places) == list(range(len(loader.dataset)))  # type: ignore[arg-type]
    return loader.dataset if whole and loader.collate_fn is default_collate else known


def places_of(loader: DataLoader[Any]) -> list[int]:
    """The places in its dataset of what a loader gives in an epoch, in ascending order."""
    sampler: Any = getattr(loader.batch_sampler, "sampler", loader.sampler)
    if isinstance(sampler, SubsetRandomSampler):
        return sorted(map(int, sampler.indices))
    drawn = isinstance(sampler, RandomSampler) and not sampler.replacement
    if isinstance(sampler, SequentialSampler) or (drawn and sampler.num_samples == len(sampler.data_source)):
        return list(range(len(loader.dataset)))  # type: ignore[arg-type]
    raise BrittleError(
        f"a DataLoader with a {type(sampler).__name__} is not an image set: which images it gives is not fixed",
        "Give its dataset, or a Subset of it.",
    )
