"""The entry point: exit statuses, and one line for whatever goes wrong."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, NoReturn

import typer

from brittle.allocator import keep_mapped
from brittle.cli.assemble import make_app
from brittle.errors import BrittleError, foreign, users_line
from brittle.files import unusable
from brittle.registry import did_you_mean
from brittle.terminal import use_substitutes, visible

INTERRUPTED = 130


def main() -> NoReturn:
    """A mistake is one line on standard error, never a traceback."""
    if "" not in sys.path:
        sys.path.append("")  # a user's own module beside them, in place of no other
    for stream in (sys.stdout, sys.stderr):
        use_substitutes(stream)
    keep_mapped()
    try:
        status = _status()
        if status == INTERRUPTED:  # what Typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.exit(status or 0)
    except BrittleError as error:
        if os.environ.get("BRITTLE_TRACEBACK"):
            traceback.print_exception(error)
        _complain(str(error), error.exit_status)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted; the same command with the same --out resumes from its finished units", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if hasattr(error, "format_message"):
            _complain(_wrong_usage(error), 2)
        if os.environ.get("BRITTLE_TRACEBACK"):
            raise
        where = users_line(error)
        if isinstance(error, OSError) and error.errno and not where:
            failure = unusable(error.filename or "a file", "read or written", error)
            _complain(str(failure), failure.exit_status)
        first = (str(error).splitlines() or [""])[0]
        where = f"{where}; BRITTLE_TRACEBACK=1 shows all" if where else "set BRITTLE_TRACEBACK=1 to see where"
        _complain(f"{type(error).__name__}: {first} ({where})", 1)


def _status() -> int | None:
    """What the command ends with. A program that ends elsewhere was ended by somebody's code."""
    try:
        status: int | None = make_app()(sys.argv[1:] or ["--help"], standalone_mode=False)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # what Rich makes of it
            raise error.__context__ from None
        if _completing():
            raise
        raise foreign("code that was loaded", error) from error
    return status


def _wrong_usage(error: Any) -> str:
    """What Typer finds wrong with a command line, and the remedy."""
    context, param = error.ctx, getattr(error, "param", None)
    if context is not None and hasattr(error, "possibilities"):
        known = [name for each in context.command.params for name in (*each.opts, *each.secondary_opts)]
        return f"{context.info_name} has no option {error.option_name}. {did_you_mean(error.option_name, known)}"
    if context is not None and param is not None and not error.message:
        name = param.metavar if param.param_type_name == "argument" else param.opts[0]
        return f"{context.info_name} needs {name}. {param.help}"
    return str(error.format_message())


def _completing() -> bool:
    """Whether a shell asks what comes next, or a user how to have it ask: Typer answers and ends the program."""
    asked = {"--install-completion", "--show-completion"}.intersection(sys.argv[1:2])
    return bool(asked) or "_BRITTLE_COMPLETE" in os.environ


def _complain(text: str, status: int) -> NoReturn:
    print(f"brittle: {visible(' '.join(text.split()))}", file=sys.stderr)
    sys.exit(status)
