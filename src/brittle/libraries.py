"""Optional libraries: imported where they are used, and one line where they are missing or broken."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from brittle.errors import BrittleError, MissingPackage


def first_line(error: BaseException) -> str:
    """The first line of another library's error, short enough to quote in one of ours."""
    lines = str(error).strip().splitlines()
    text = lines[0].strip().rstrip(".:") if lines else type(error).__name__
    return text if len(text) <= 300 else text[:299] + "…"


def library(name: str, extra: str, who: str) -> Any:
    """The library that `who` needs, imported; one line where it is missing or broken."""
    with imported(name.split(".")[0], extra, who):
        return importlib.import_module(name)


@contextmanager
def imported(package: str, extra: str, who: str) -> Iterator[None]:
    """Errors of an import within it as one line. Libraries import parts of themselves, and each other, when used."""
    try:
        yield
    except BrittleError:
        raise
    except ModuleNotFoundError as error:
        if error.name == package:
            raise MissingPackage(package, extra, who) from None
        raise _broken(package, error) from error
    except (ImportError, RuntimeError) as error:
        raise _broken(package, error) from error


def _broken(package: str, error: BaseException) -> BrittleError:
    while error.__cause__ is not None:
        error = error.__cause__
    said = first_line(error)
    torchvision = "torchvision" in said
    remedy = "Install a build of torchvision that fits this torch." if torchvision else "Reinstall it."
    return BrittleError(f"{package} can't be imported: {said}", remedy)


@contextmanager
def quietly() -> Iterator[None]:
    """Without what a library prints, logs and warns of as it works."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
