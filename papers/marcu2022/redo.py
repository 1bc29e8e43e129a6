"""Marcu & Prügel-Bennett 2022 redone: trains the networks, measures them, and writes what was found.

    python papers/marcu2022/redo.py [--device cuda --workers 3]          # every part, one after the other
    python papers/marcu2022/redo.py --small                    # a few images on two CPU cores, to see that it works
    python papers/marcu2022/redo.py --train main --measure main          # one part; what is there already is kept
    python papers/marcu2022/redo.py --train main across --minutes 8      # begins no network after 8 minutes
    python papers/marcu2022/redo.py --train recipe --measure recipe --seeds 2 --workers 5   # 200 epochs: the third run
    python papers/marcu2022/redo.py --train stimuli converged --measure stimuli converged   # and both-ways, deeper

The last two and their like are not among "every part"; papers/README.md says how long they take.
Then `python papers/marcu2022/page.py` makes the tables and figures. Weights and run folders lie in --work; --out gets
the tables of each part as Parquet. --data holds fashion-mnist and mnist.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gather
import plan
import studies
import torch

import training
from brittle.engine.store.run_folder import environment

HERE = Path(__file__).parent
WHOLE = ("halves", "main", "architectures", "across", "random", "small", "reduced", "long")
PARTS = (*WHOLE, *plan.BY_ITSELF)


def written(part: str, settings: training.Settings, out: Path, batch: int | None) -> None:
    """Measures a part and keeps what its runs say."""
    planned = plan.part(part, studies.removed(out), settings.small)
    networks = [each for each in planned if training.weights_of(settings, each).exists()]
    if not networks:
        print(f"{part}: nothing is trained", file=sys.stderr)
        return
    if part in plan.BY_ITSELF:  # so that what is known of a network is known in full
        for network in networks:
            runs = dict(studies.carried_out(part, [network], settings, batch))
            gather.write(part, [training.facts_of(settings, network)], runs, environment(), out)
            print(f"{part}: {network.name} measured", file=sys.stderr, flush=True)
        return
    facts = [training.facts_of(settings, each) for each in networks]
    runs: dict[str, Any] = {}
    gather.write(part, facts, runs, environment(), out)
    for name, said in studies.carried_out(part, networks, settings, batch):
        runs[name] = said
        gather.write(part, facts, runs, environment(), out)
        print(f"{part}: {name} measured", file=sys.stderr, flush=True)


def missing(part: str, settings: training.Settings, out: Path, seeds: Sequence[int] | None) -> list[plan.Network]:
    """The networks to train; of parts whose tables gather, those that no earlier call has measured."""
    known = {row["name"] for row in gather.read(out, part, "networks")} if part in plan.BY_ITSELF else set()
    planned = plan.part(part, studies.removed(out), settings.small)
    return [each for each in planned if each.name not in known and (seeds is None or each.seed in seeds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--train", nargs="*", choices=PARTS, help="parts to train; all, unless --measure is given")
    parser.add_argument("--measure", nargs="*", choices=PARTS, help="parts to measure; all, unless --train is given")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, help="folder for weights and runs; build/marcu2022")
    parser.add_argument("--out", type=Path, help="folder for the results; this one")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="networks that are trained at a time")
    parser.add_argument("--batch", type=int, help="images classified at once")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no other network is begun")
    parser.add_argument("--seeds", type=int, nargs="+", help="runs to train, by number; all")
    parser.add_argument("--small", action="store_true", help="a few images, one epoch")
    options = parser.parse_args()
    small = Path("build/marcu-small")
    work = options.work or (small if options.small else Path("build/marcu2022"))
    out = options.out or (small if options.small else HERE)
    out.mkdir(parents=True, exist_ok=True)
    settings = training.Settings(options.data, work, options.device, options.small)
    end = time.time() + 60 * options.minutes
    everything = options.train is None and options.measure is None
    for part in PARTS:
        if part in plan.BY_ITSELF and everything:
            continue  # hours: they are asked for by name
        if everything or part in (options.train or ()):
            networks = missing(part, settings, out, options.seeds)
            done = training.train_all(networks, settings, options.workers, end)
            print(f"{part}: {done} of {len(networks)} trained", file=sys.stderr, flush=True)
        if everything or part in (options.measure or ()):
            written(part, settings, out, options.batch)


if __name__ == "__main__":
    main()
