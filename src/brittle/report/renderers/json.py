"""Blocks as JSON, with a version, and the JSON Schema that the output keeps to."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from brittle.report.blocks import VERSION, Block
from brittle.report.blocks.base import piece
from brittle.report.blocks.text import Text

SCHEMA = Path(__file__).parent / "blocks.schema.json"


@piece
class MeasureBlocks:
    """What one measure of a study says."""

    name: str
    kind: str
    title: str
    blocks: tuple[Block, ...]


@piece
class Document:
    """A report: what stands on top, the weightiest first, and every measure in turn."""

    title: str
    top: tuple[Block, ...]
    warnings: tuple[Text, ...]
    measures: tuple[MeasureBlocks, ...]
    version: int = VERSION


@cache
def _adapter() -> TypeAdapter[Document]:
    return TypeAdapter(Document)


def as_json(document: Document) -> str:
    return _adapter().dump_json(document, indent=1).decode()


def from_json(text: str) -> Document:
    return _adapter().validate_json(text)


def schema() -> dict[str, Any]:
    """The JSON Schema of a report, as the types of blocks have it; the package holds it as a file."""
    made = _adapter().json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Brittle report, version {VERSION}",
    } | {key: value for key, value in made.items() if key != "title"}


def write_schema() -> None:
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
