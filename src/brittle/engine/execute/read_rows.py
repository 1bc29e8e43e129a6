"""What a measure reads, for the images in question: the tables of other measures, from the store."""

from __future__ import annotations

import time

import pyarrow as pa

from brittle.engine.job import Job
from brittle.engine.plan.missing import spans_read
from brittle.engine.store.unit_store import Store, gaps, whole_tables
from brittle.measures.base import ROWS, Cell, ReadRows, Tables, together
from brittle.measures.plan import Span

WAIT = 0.05  # seconds


def read_rows(job: Job, store: Store, cell: Cell, first: int, end: int, *, looks: int = 1) -> ReadRows:
    """By kind: the tables of images [first, end), and perhaps of their neighbours, of the measures that a cell reads.

    A folder that is listed while another process merges its files may seem to lack some: who knows that nothing is
    missing takes several `looks`."""
    found = {}
    for kind, read in job.reads(cell).items():
        parts: dict[str, list[pa.Table]] = {ROWS: []}
        for span in spans_read(job.plan(read), read, first, end):
            for tables in _stored(store, read, span, looks):
                for name, table in tables.items():
                    parts.setdefault(name, []).append(table)
        nothing = pa.table({"unit": [], "image": []})
        found[kind] = {name: together(each) if each else nothing for name, each in parts.items()}
    return found


def _stored(store: Store, cell: Cell, span: Span, looks: int) -> list[Tables]:
    found = list(whole_tables(store, cell, span))
    while looks > 1 and gaps([here for here, _ in found], span):
        time.sleep(WAIT)
        found, looks = list(whole_tables(store, cell, span)), looks - 1
    return [tables for _, tables in found]
