"""What a measure reads, for the images in question: the rows of other measures, from the store."""

from __future__ import annotations

import pyarrow as pa

from brittle.engine.job import Job
from brittle.engine.store import Store
from brittle.measures.base import ROWS, Cell, Given
from brittle.measures.plan import covering


def given_rows(job: Job, store: Store, cell: Cell, first: int, end: int) -> Given:
    """By kind: the rows of images [first, end), and perhaps of their neighbours, of the measures that a cell reads."""
    found = {}
    for kind, read in job.reads(cell).items():
        parts = [rows for span in covering(job.plan(read), first, end) for _, rows in store.read(read, span)]
        found[kind] = {ROWS: pa.concat_tables(parts) if parts else pa.table({"unit": [], "image": []})}
    return found
