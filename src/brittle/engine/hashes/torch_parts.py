"""What of a torch module, beside its weights, may change its answers; and what stands beside it and may not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch import fx, nn
from torch.nn.modules import module as torch_module
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset

TRAINERS = ("lightning", "lightning_fabric", "pytorch_lightning")
ACCIDENTAL = re.compile(r"training = (True|False)| object at 0x[0-9a-f]+| # [^\n]*:\d+:\d+|___torch_mangle_\d+")
RECOMPUTED = frozenset(("_flat_weights", "_flat_weight_refs"))  # of recurrent networks: their parameters once more


def used_in_training(value: Any) -> bool:
    """A dataset, an optimiser or a trainer: networks hold them, answers do not depend on them, and they may change."""
    beside = (Dataset, DataLoader, Optimizer, LRScheduler)
    return isinstance(value, beside) or type(value).__module__.partition(".")[0] in TRAINERS


def hooks_of(module: nn.Module) -> list[Any]:
    """Functions that are called beside a module's own, those of all modules too."""
    here = (module._forward_pre_hooks, module._forward_hooks, module._backward_pre_hooks, module._backward_hooks)
    everywhere = (torch_module._global_forward_pre_hooks, torch_module._global_forward_hooks)
    return [list(hooks.values()) for hooks in (*here, *everywhere)]


def compiled_from(module: nn.Module) -> nn.Module | None:
    """The module that `torch.compile` was given."""
    found = module._modules.get("_orig_mod")
    return found if type(module).__module__.startswith("torch._dynamo") else None


def traced_code(module: nn.Module) -> Iterator[bytes]:
    """The code of a traced module, which no class of it holds."""
    if isinstance(module, fx.GraphModule):
        yield module.code.encode()


def scripted(module: Any) -> Iterator[bytes]:
    """The code of a TorchScript module and what it holds beside tensors, without what a place in memory or in a source
    file leaves there."""
    text = module._c.dump_to_str(True, True, False)
    yield ACCIDENTAL.sub("", text).encode()
