"""The command line. Nothing heavy is imported before a command needs it: no `--help` imports torch."""

from __future__ import annotations

from brittle.cli.entry import main

__all__ = ["main"]
