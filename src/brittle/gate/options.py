"""What the gate asks for."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Literal

from brittle.registry.options import option

WhenUnsure = Literal["stop", "pass", "fail"]


@dataclass(frozen=True, kw_only=True)
class GateInputs:
    """What is judged."""

    study: str = option(MISSING, "a study file (TOML), or the folder of a finished run", positional=True)
    out: str | None = option(None, "keep the run and its report in this folder; the same again resumes it")


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The options of `brittle check`, without those of carrying a study out."""

    baseline: str | None = option(None, "the run of an earlier release, a run folder", flag="against")
    allow: float = option(0.01, "by how much robustness may fall", least=0, below=1)
    on: tuple[Literal["rho", "accuracy", "clean"], ...] = option(
        ("rho", "accuracy"), "which numbers may not fall: rho, accuracy (under nuisances), clean (without)", fewest=1
    )
    require: tuple[str, ...] = option(
        (), "a condition on a number of the summary, such as 'rho>=0.6' or 'rho.low>=0.6'; may be repeated"
    )
    cases: str | None = option(None, "a file of named cases; cases.toml beside the study by default, if it is there")
    pair: tuple[str, ...] = option((), "NEW=OLD: classifiers that have other names in the baseline; may be repeated")
    confidence: float = option(0.95, "confidence of all intervals together", above=0, below=1)
    unsure: WhenUnsure = option(
        "stop",
        "what it comes to that it can't be told yet: stop (exit status 4), pass (0) or fail (3)",
    )
    worst: int = option(5, "how many of the new weak points are named", least=0)


@dataclass(frozen=True, kw_only=True)
class GateOutputs:
    """Where the verdict goes, besides the terminal."""

    junit: str | None = option(None, "write JUnit XML to this file")
    markdown: str | None = option(None, "write a summary in Markdown to this file")
    annotations: Literal["auto", "yes", "no"] = option(
        "auto", "print GitHub annotations; auto: where GITHUB_ACTIONS is set"
    )
