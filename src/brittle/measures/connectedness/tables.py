"""What is kept of a search for bubbles: a row per pair tried, a row per image, and the images on some of the paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

MEMBERS, PICTURES = "images", "pictures"  # tables beside the rows

EDGE_COLUMNS = pa.schema(
    {
        "unit": pa.int32(),
        "image": pa.int64(),
        "other": pa.int64(),
        "label": pa.int32(),
        "round": pa.int32(),  # 0: the fair sample of pairs
        "distance": pa.float32(),  # L2
        "how": pa.string(),  # straight, curved, unknown; skipped: only the straight segment was tried
        "why": pa.string(),  # what became of a curved path that was of no use
        "straight_least": pa.float32(),  # margin on the straight segment, up to where it left the class
        "least": pa.float32(),  # margin on the path that `how` names
        "outside": pa.float32(),  # how far a pixel of that path went beyond [0, 1]
        "steps": pa.int32(),
        "calls": pa.int32(),
    }
)
MEMBER_COLUMNS = pa.schema(
    {
        "unit": pa.int32(),
        "image": pa.int64(),
        "label": pa.int32(),
        "predicted": pa.int32(),
        "margin": pa.float32(),
        "component": pa.int64(),  # the id of its first image; −1 where the image is misclassified
    }
)
PICTURE_COLUMNS = pa.schema(
    {
        "unit": pa.int32(),
        "image": pa.int64(),
        "other": pa.int64(),
        "label": pa.int32(),
        "how": pa.string(),
        "frame": pa.int32(),
        "margin": pa.float32(),
        "shape": pa.list_(pa.int32()),
        "pixels": pa.list_(pa.float32()),
    }
)


def kept_paths(pictures: pa.Table) -> list[dict[str, Any]]:
    """The paths of a table of pictures, each with its frames (F, C, H, W) and their margins (F,)."""
    paths: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in pictures.to_pylist():
        paths.setdefault((row.get("classifier"), row["image"], row["other"]), []).append(row)
    return [
        {key: value for key, value in rows[0].items() if key not in ("unit", "frame", "shape", "pixels")}
        | {
            "margin": np.array([row["margin"] for row in rows], np.float32),
            "frames": np.array([row["pixels"] for row in rows], np.float32).reshape(len(rows), *rows[0]["shape"]),
        }
        for rows in paths.values()
    ]
