"""What a measure reads, for the images in question: the rows of other measures, from the store."""

from __future__ import annotations

import time

import pyarrow as pa

from brittle.engine.job import Job
from brittle.engine.store import Store, gaps
from brittle.measures.base import ROWS, Cell, Given
from brittle.measures.plan import Span, covering

WAIT = 0.05  # seconds


def given_rows(job: Job, store: Store, cell: Cell, first: int, end: int, *, looks: int = 1) -> Given:
    """By kind: the rows of images [first, end), and perhaps of their neighbours, of the measures that a cell reads.

    A folder that is listed while another process merges its files may seem to lack some: who knows that nothing is
    missing takes several `looks`."""
    found = {}
    for kind, read in job.reads(cell).items():
        parts = [rows for span in covering(job.plan(read), first, end) for rows in _rows(store, read, span, looks)]
        found[kind] = {ROWS: pa.concat_tables(parts) if parts else pa.table({"unit": [], "image": []})}
    return found


def _rows(store: Store, cell: Cell, span: Span, looks: int) -> list[pa.Table]:
    found = list(store.read(cell, span))
    while looks > 1 and gaps([here for here, _ in found], span):
        time.sleep(WAIT)
        found, looks = list(store.read(cell, span)), looks - 1
    return [rows for _, rows in found]
