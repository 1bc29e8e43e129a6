"""The entry point: exit statuses, and one line for whatever goes wrong."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

import typer

from brittle.cli.assemble import make_app
from brittle.errors import BrittleError

INTERRUPTED = 130


def main() -> NoReturn:
    """A mistake is one line on standard error, never a traceback."""
    if "" not in sys.path:
        sys.path.append("")  # a user's own module beside them, in place of no other
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that the terminal can't show is no reason to fail
    try:
        status = make_app()(sys.argv[1:] or ["--help"], standalone_mode=False)
        if status == INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.exit(status or 0)
    except BrittleError as error:
        _complain(str(error), error.exit_status)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted; the same command with the same --out resumes from its finished units", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is not None:
            _complain(usage(), 2)
        if os.environ.get("BRITTLE_TRACEBACK"):
            raise
        first = (str(error).splitlines() or [""])[0]
        _complain(f"{type(error).__name__}: {first} (set BRITTLE_TRACEBACK=1 to see where)", 1)


def _complain(text: str, status: int) -> NoReturn:
    print(f"brittle: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(status)
