"""One training step: take a batch by index, transform it, and update the weights.

For a small network a step is a hundred GPU kernels of microseconds each, and the GPU waits for Python. Captured once
as a CUDA graph and replayed, the same step takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from brittle.errors import Failure
from brittle.memory import out_of_memory
from brittle.training.data import TrainingImages
from brittle.types import Batch

Transform = Callable[[Batch, Tensor], Batch]  # a batch and keys (B,), one per image and epoch → the batch to train on
Loss = Callable[[Tensor, Batch], Tensor]  # logits (B, K) and the transformed batch → ()

WARM_UP = 3  # steps before capture, which fill caches and create the optimiser's state


class Step:
    """`step(rows, rate)` trains on the images at `rows` (B,); `total` sums their losses.

    With `capture`, batches of the same size as the first are replayed from a CUDA graph: for modules, transforms and
    losses that do the same every time and never wait for the device. Without a GPU, or if images are not kept on it,
    it has no effect."""

    def __init__(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        data: TrainingImages,
        loss: Loss,
        transform: Transform | None = None,
        half: bool = False,
        capture: bool = False,
    ) -> None:
        self.module, self.optimiser, self.data, self.loss, self.transform = module, optimiser, data, loss, transform
        self.half = half
        self.keys = torch.zeros(
            len(data), dtype=torch.int64, device=data.device
        )  # of the current epoch; set with copy_
        self.total = torch.zeros((), device=data.device)
        self.captures = capture and data.device.type == "cuda" and data.pixels is not None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.rows: Tensor | None = None
        self.warmed = 0
        if self.captures:  # a graph reads the rate from the memory it was in at capture
            for group in optimiser.param_groups:
                group["lr"] = torch.tensor(float(group["lr"]), device=data.device)

    def __call__(self, rows: Tensor, rate: float) -> None:
        try:
            self._step(rows, rate)
        except Exception as error:
            if out_of_memory(error):
                said = f"out of memory in a step of {len(rows)} images"
                raise Failure(said, "Use fewer per step (--batch-size), or another device.") from error
            raise

    def _step(self, rows: Tensor, rate: float) -> None:
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        if self.captures and self.rows is None:
            self.rows = rows.clone()
        if self.rows is None or rows.shape != self.rows.shape:
            self._eager(rows)
        elif self.graph is not None:
            self.rows.copy_(rows)
            self.graph.replay()
        elif self.warmed < WARM_UP:
            self._aside(rows)
            self.warmed += 1
        else:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._eager(self.rows)
            self.rows.copy_(rows)
            self.graph.replay()

    def _eager(self, rows: Tensor) -> None:
        batch = self.data.batch(rows)
        if self.transform is not None:
            batch = self.transform(batch, self.keys[rows])
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.data.device.type, torch.bfloat16, enabled=self.half):
            value = self.loss(self.module(batch.images), batch)
        value.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.total += value.detach() * len(rows)

    def _aside(self, rows: Tensor) -> None:
        """On a separate stream, as capture requires: autograd remembers the stream on which it first ran."""
        stream = torch.cuda.Stream(self.data.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self.data.device))
        with torch.cuda.stream(stream):
            self._eager(rows)
        torch.cuda.current_stream(self.data.device).wait_stream(stream)
