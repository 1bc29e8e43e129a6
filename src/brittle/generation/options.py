"""Where what is generated goes, and what is told beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class GenerationTarget:
    """Where the benchmark is written."""

    out: str | None = option(None, "the benchmark's folder; the same command again resumes it, or extends it")


@dataclass(frozen=True, kw_only=True)
class TrainingTarget:
    """Where trained files are written."""

    out: str | None = option(None, "the folder of the files; the same command again resumes it, or extends it")
