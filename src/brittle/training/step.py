"""One training step: take a batch by index, transform it, and update the weights.

For a small network a step is a hundred GPU kernels of microseconds each, and the GPU waits for Python. Captured once
as a CUDA graph and replayed, the same step takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

import torch
from torch import Tensor, nn

from brittle.errors import Failure
from brittle.libraries import first_line
from brittle.memory import out_of_memory
from brittle.training.augmentation import DrawnNumbers
from brittle.training.data import TrainingImages
from brittle.types import Batch

Apply = Callable[[Batch, DrawnNumbers], Batch]  # a batch and what was drawn for it → the batch to train on
Loss = Callable[[Tensor, Batch], Tensor]  # logits (B, K) and the transformed batch → ()

NOTHING: DrawnNumbers = MappingProxyType({})
WARM_UP = 3  # steps before capture, which fill caches and create the optimiser's state


class Step:
    """`step(rows, rate, drawn)` trains on the images at `rows` (B,), transformed with what was drawn for them.

    `totals` sums their losses: the one that is minimised, and `others`, which are only recorded. With `compiled`,
    batches of the same size as the first go through torch.compile. With `capture`, they are replayed from a CUDA graph:
    for modules, transforms and losses that do the same every time and never wait for the device. Without a GPU, or if
    images are not kept on it, it has no effect."""

    def __init__(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        data: TrainingImages,
        loss: Loss,
        transform: Apply | None = None,
        half: bool = False,
        capture: bool = False,
        compiled: bool = False,
        others: Sequence[Loss] = (),
    ) -> None:
        self.module, self.optimiser, self.data, self.transform = module, optimiser, data, transform
        self.losses, self.half = (loss, *others), half
        self.totals = torch.zeros(len(self.losses), device=data.device)
        self.compiled = torch.compile(module, dynamic=False) if compiled else module
        self.size = 0  # of the first batch
        self.captures = capture and data.device.type == "cuda" and data.pixels is not None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.rows: Tensor | None = None
        self.drawn: dict[str, Tensor] = {}
        self.warmed = 0
        if self.captures:  # a graph reads the rate from the memory it was in at capture
            for group in optimiser.param_groups:
                group["lr"] = torch.tensor(float(group["lr"]), device=data.device)

    def __call__(self, rows: Tensor, rate: float, drawn: DrawnNumbers = NOTHING) -> None:
        self.size = self.size or len(rows)
        try:
            self._step(rows, rate, drawn)
        except Exception as error:
            if out_of_memory(error):
                said = f"out of memory in a step of {len(rows)} images"
                raise Failure(said, "Use fewer per step (--batch-size), or another device.") from error
            if self.compiled is not self.module and _is_of_compiler(error):
                cause = first_line(getattr(error, "inner_exception", error))
                raise Failure(f"the network can't be compiled: {cause}", "Leave out --compile.") from error
            raise

    def _step(self, rows: Tensor, rate: float, drawn: DrawnNumbers) -> None:
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        if not self.captures or len(rows) != self.size:
            self._eager(rows, drawn)
        elif self.graph is not None:
            self._replay(rows, drawn)
        elif self.warmed < WARM_UP:
            self._on_side_stream(rows, drawn)
            self.warmed += 1
        else:
            self.rows, self.drawn = rows.clone(), {name: values.clone() for name, values in drawn.items()}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._eager(self.rows, self.drawn)
            self._replay(rows, drawn)

    def _replay(self, rows: Tensor, drawn: DrawnNumbers) -> None:
        """The captured step, whose inputs are read from the memory they were in at capture."""
        assert self.rows is not None
        assert self.graph is not None
        self.rows.copy_(rows)
        for name, values in drawn.items():
            self.drawn[name].copy_(values)
        self.graph.replay()

    def _eager(self, rows: Tensor, drawn: DrawnNumbers) -> None:
        batch = self.data.batch(rows)
        if self.transform is not None:
            batch = self.transform(batch, drawn)
        self.optimiser.zero_grad(set_to_none=True)
        module = self.compiled if len(rows) == self.size else self.module
        with torch.autocast(self.data.device.type, torch.bfloat16, enabled=self.half):
            logits = module(batch.images)
            minimised = self.losses[0](logits, batch)
        minimised.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        with torch.no_grad():
            values = [minimised.detach(), *(loss(logits.detach().float(), batch) for loss in self.losses[1:])]
            self.totals += torch.stack([value.float() for value in values]) * len(rows)

    def _on_side_stream(self, rows: Tensor, drawn: DrawnNumbers) -> None:
        """On a separate stream, as capture requires: autograd remembers the stream on which it first ran."""
        stream = torch.cuda.Stream(self.data.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self.data.device))
        with torch.cuda.stream(stream):
            self._eager(rows, drawn)
        torch.cuda.current_stream(self.data.device).wait_stream(stream)


def _is_of_compiler(error: Exception) -> bool:
    return any(kind.__module__.startswith(("torch._dynamo", "torch._inductor")) for kind in type(error).__mro__)
