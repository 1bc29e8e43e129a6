"""When memory runs out the batch is halved, and it says so; rows past some size go to disk; the numbers stay."""

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
import torch

import brittle
from brittle.api import measure
from brittle.classifiers import classifier
from brittle.engine import run as running
from brittle.engine.store.memory_store import MemoryStore
from brittle.errors import BrittleError, Failure
from brittle.images.base import ImageSet
from brittle.measures.base import Cell
from brittle.measures.plan import Span
from brittle.memory import in_pieces, out_of_memory
from brittle.progress import Progress

ERRORS = {
    "CUDA": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "CPU": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"),
    "Python": MemoryError(),
    "cuBLAS": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "ONNX Runtime": Exception("bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 4096"),
}


def hungry(most, error):
    plain = classifier("bundled:plain")

    def scores(images):
        if len(images) > most:
            raise error
        return plain.scores(images)

    return classifier(scores, output="logits", labels=plain.labels)


@pytest.mark.warned("the batch is halved to")
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("most", [20, 3])
def test_the_batch_is_halved_until_it_fits_and_the_numbers_stay(most, error):
    progress, options = Progress(), {"count": 30, "samples": 4, "batch": 64}
    found = measure(hungry(most, error), "sample", "affine", progress=progress, **options)
    plenty = measure("bundled:plain", "sample", "affine", **options)
    assert found["rho"] == pytest.approx(plenty["rho"], abs=1e-6)
    assert found["accuracy_nuisance"] == plenty["accuracy_nuisance"]
    sizes = [32, 16] if most == 20 else [32, 16, 8, 4, 2]
    assert progress.notes == [f"out of memory: the batch is halved to {size}" for size in sizes]


def test_no_memory_for_a_single_image_is_a_failure():
    with pytest.raises(Failure, match="out of memory even with one image at a time") as failure:
        measure(hungry(0, ERRORS["CUDA"]), "sample", "affine", count=10, samples=2)
    assert failure.value.exit_status == 1


def test_another_error_is_not_taken_for_a_lack_of_memory():
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(BrittleError, match="raised ValueError: my own"):
        measure(hungry(9, ValueError("my own")), "sample", "affine", count=30, samples=2)


def test_what_does_not_fit_is_computed_in_pieces():
    sizes = []

    def compute(images: torch.Tensor) -> torch.Tensor:
        sizes.append(len(images))
        if len(images) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return 2 * images

    assert in_pieces(compute, torch.arange(10)).tolist() == list(range(0, 20, 2))
    assert sizes == [10, 5, 2, 2, 2, 2, 2]


def test_rounds_over_a_set_too_large_to_keep_are_read_in_parts(monkeypatch):
    monkeypatch.setattr("brittle.engine.plan.missing.IMAGES_KEPT", 0)
    monkeypatch.setattr("brittle.measures.robustness.measure.rows_per_unit", lambda numbers: 64)
    read, groups = [], ImageSet.groups

    def counted(self, positions, device="cpu", **how):
        read.append(len(positions))
        return groups(self, positions, device, **how)

    monkeypatch.setattr(ImageSet, "groups", counted)
    whole = measure("bundled:plain", "sample", "rotation", estimand="set", samples=3, batch=128)
    assert max(read) <= 512
    monkeypatch.undo()
    assert whole["rho"] == pytest.approx(
        measure("bundled:plain", "sample", "rotation", estimand="set", samples=3)["rho"], abs=1e-6
    )


def test_rows_past_what_memory_may_hold_go_to_disk_and_come_back_the_same():
    cell, table = Cell("robustness", "a", "b", "c"), pa.table({"unit": [0, 0, 1], "value": [1.5, 2.5, 3.5]})
    plain, spilling = MemoryStore(), MemoryStore(most=table.nbytes)
    for store in (plain, spilling):
        for place in range(4):
            units = pa.table({"unit": pa.array([2 * place, 2 * place, 2 * place + 1]), "value": table["value"]})
            store.write(cell, Span(2 * place, 2 * place + 2), {"rows": units, "images": units.slice(0, 1)})
    for name, span in itertools.product(("rows", "images"), (None, Span(1, 6))):
        kept, brought = (
            [(at, each.to_pydict()) for at, each in store.read(cell, span, name)] for store in (plain, spilling)
        )
        assert kept == brought
    assert len(list(Path(spilling._folder.name).iterdir())) == 8


def test_memory_without_a_folder_does_not_grow_with_draws(monkeypatch):
    held = []

    class Watched(MemoryStore):
        def write(self, cell, span, tables):
            super().write(cell, span, tables)
            kept = [table for spans in self._tables.values() for tables in spans.values() for table in tables.values()]
            held.append(sum(table.nbytes for table in kept if isinstance(table, pa.Table)))

    monkeypatch.setattr(running, "MemoryStore", lambda: Watched(most=20_000))
    few = brittle.measure("bundled:plain", "sample", "rotation", count=100, samples=10, batch=64)
    many = brittle.measure("bundled:plain", "sample", "rotation", count=100, samples=60, batch=64)
    assert max(held) <= 20_000
    assert (few["samples"], many["samples"]) == (10, 60)
