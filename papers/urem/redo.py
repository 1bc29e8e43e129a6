"""UREM redone: trains and measures all networks, and writes what was found as Parquet.

    python papers/urem/redo.py [--device cuda --workers 12]            # all parts, one after the other
    python papers/urem/redo.py --small --out build/urem-small          # minutes on two CPU cores, to see that it works
    python papers/urem/redo.py --only grid variants --minutes 8        # begins no network after 8 minutes
    python papers/urem/redo.py --only skips --workers 14 --minutes 3   # the grid with skip connections
    python papers/urem/redo.py --only grid variants --beside FOLDER    # goes on where the run in FOLDER stopped

Then `python papers/urem/page.py` makes the tables and figures of the page. What was trained already (in --weights) is
only read. --data holds fashion-mnist and imagenet-sample; lite needs packages that papers/fawzi2016/efficientnet.py
names, or a folder that `lite.py --pack` wrote.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import fashion
import lite
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from measuring import Tables

from brittle.engine.store.run_folder import environment

HERE = Path(__file__).parent
PARTS = (*fashion.PARTS, "lite")


def write(out: Path, part: str, found: Iterable[Tables], beside: Path | None = None) -> None:
    """One file for each table, after what `beside` has of it; small enough to be kept beside the page."""
    together: dict[str, list[pa.Table]] = defaultdict(list)
    if beside is not None:
        for file in sorted(beside.glob(f"{part}-*.parquet")):
            together[file.stem.removeprefix(f"{part}-")].append(plain(pq.read_table(file)))
    for tables in found:
        for name, table in tables.items():
            together[name].append(table)
    for name, parts in together.items():
        whole = pa.concat_tables(parts)
        pq.write_table(whole, out / f"{part}-{name}.parquet", compression="zstd", compression_level=19)


def plain(table: pa.Table) -> pa.Table:
    """Without dictionaries, which a file may have and new tables don't."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(field.type.value_type))
    return table


def trained(part: str, options: argparse.Namespace, end: float) -> None:
    """A part on FashionMNIST: written again after every few networks, so that a kill loses little."""
    settings = fashion.Settings(options.data / "fashion-mnist", options.weights, options.device)
    seeds = fashion.SEEDS
    if options.small:
        settings = replace(settings, epochs=1, images=10, per_class=1, rates=fashion.RATES[:1], steps=40, small=True)
        seeds = seeds[:1]
    wanted = fashion.PARTS[part](seeds)
    if options.small:
        wanted = wanted[-2:] if part == "grid" else wanted[-5:]  # the smallest networks, or one of each variant
    wanted = [each for each in wanted if each not in known(part, options.beside)]
    begun, found = time.monotonic(), {}
    for which, tables in fashion.carried_out(wanted, settings, options.workers, end - begun):
        found[which] = tables
        print(f"{time.monotonic() - begun:5.0f} s  {fashion.said(which, tables)}", file=sys.stderr, flush=True)
        if len(found) % 5 == 0:
            write(options.out, part, [found[each] for each in wanted if each in found], options.beside)
    write(options.out, part, [found[each] for each in wanted if each in found], options.beside)
    print(f"{part}: {len(found)} of {len(wanted)} networks", file=sys.stderr, flush=True)


def known(part: str, beside: Path | None) -> set[fashion.Trained]:
    """The networks whose tables an interrupted run has already written."""
    if beside is None:
        return set()
    rows = pq.read_table(beside / f"{part}-networks.parquet", columns=["depth", "budget", "variant", "seed"])
    return {fashion.Trained(**row) for row in rows.to_pylist()}


def keep_weights(options: argparse.Namespace) -> None:
    """The grid's weights of the first seed, for pictures."""
    with tarfile.open(options.out / "weights.tar", "w") as tar:
        for file in sorted(options.weights.glob("*-full-seed0.safetensors")):
            tar.add(file, file.name)


def photographed(options: argparse.Namespace) -> None:
    packed = options.lite
    photos = packed / "photographs" if packed is not None else options.data / "imagenet-sample"
    settings = lite.Settings(photos, packed, options.device)
    names = lite.NAMES
    if options.small:
        settings = replace(settings, images=3, matrix=2, rates=lite.RATES[:1], steps=3, limit=3)
        settings = replace(settings, layer_images=2, layer_repeats=1, layer_networks=2, layer_limit=0.2)
        names = names[:1]
    begun = time.monotonic()
    with ProcessPoolExecutor(min(options.workers, len(names)), multiprocessing.get_context("spawn")) as pool:
        begun_with = {pool.submit(lite.evaluated, name, settings): name for name in names}
        found = {}
        for future in as_completed(begun_with):
            found[begun_with[future]] = future.result()
            write(options.out, "lite", [found[name] for name in names if name in found])
    print(f"lite: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="which parts; all by default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--lite", type=Path, help="folder that lite.py --pack wrote, instead of the packages' weights")
    parser.add_argument("--weights", type=Path, help="folder for what is trained; build/urem if in full")
    parser.add_argument("--out", type=Path, help="folder for the results; this one, or build/urem-small")
    parser.add_argument("--beside", type=Path, help="folder of an interrupted run, whose networks are not done again")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="networks at a time")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no other network is begun")
    parser.add_argument("--small", action="store_true", help="fewer and shorter, for two CPU cores")
    options = parser.parse_args(arguments)
    options.out = options.out or (Path("build/urem-small") if options.small else HERE)
    options.weights = options.weights or (options.out / "weights" if options.small else Path("build/urem"))
    return options


def main() -> None:
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    seconds: dict[str, Any] = {}
    for part in options.only:
        begun = time.monotonic()
        if part == "lite":
            photographed(options)
        else:
            trained(part, options, end)
        seconds[part] = round(time.monotonic() - begun, 1)
    if "grid" in options.only:
        keep_weights(options)
    told = environment() | {"options": {key: str(value) for key, value in vars(options).items()}, "seconds": seconds}
    name = "environment.json" if options.only == list(PARTS) else f"environment-{'-'.join(options.only)}.json"
    (options.out / name).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
