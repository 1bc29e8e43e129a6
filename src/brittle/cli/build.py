"""Commands from dataclasses of options: a parameter for every option, its help, default and choices taken from there.

Typer only takes the command line apart: what was typed goes as text to the one place that checks options.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperGroup

from brittle.cli.completion import completion_of
from brittle.cli.specs import REGISTRIES, check_spec
from brittle.commands import OTHERS, PANELS
from brittle.errors import BrittleError
from brittle.registry.options import checked, hints_of, limits_of, options_of
from brittle.registry.spec import written

T = TypeVar("T")


@dataclass(frozen=True)
class CommandParameter:
    """One parameter of a command, made from one option."""

    group: type  # the dataclass that the option is of
    field: Field[Any]
    help: str
    default: Any  # MISSING where a user must give it

    @property
    def key(self) -> str:
        # Options of two groups may have one name, but not one flag. Older Typers know names in lower case only.
        return f"{self.group.__name__.lower()}_{self.field.name}"

    @property
    def flag(self) -> str:
        return self.field.metadata.get("flag") or self.field.name.replace("_", "-")

    @property
    def positional(self) -> bool:
        return bool(self.field.metadata.get("positional"))

    @property
    def hint(self) -> Any:
        return hints_of(self.group)[self.field.name]

    def for_typer(self) -> inspect.Parameter:
        within, about = limits_of(self.field).range, f"{self.help[:1].upper()}{self.help[1:]}."
        about = f"{about} [{within}]" if within else about
        completed = completion_of(self.field.name)
        if self.positional:
            info: Any = typer.Argument(metavar=self.flag.upper(), help=about, autocompletion=completed)
        elif self.hint is bool:
            info = typer.Option(f"--{self.flag}" + (f"/--no-{self.flag}" if self.default else ""), help=about)
        else:
            info = typer.Option(f"--{self.flag}", metavar=f"<{shape(self.hint)}>", help=about, autocompletion=completed)
        return inspect.Parameter(
            self.key,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if self.default is MISSING else self._typed_default(),
            annotation=Annotated[self._typed(), info],
        )

    def _typed(self) -> Any:
        """What Typer takes it for: text, and a list of texts where a flag may stand there twice."""
        if self.hint is bool:
            return bool
        if self.positional and self.hint != tuple[str, ...]:
            return str if self.default is MISSING else str | None
        return list[str] if self.default is MISSING else list[str] | None

    def _typed_default(self) -> Any:
        if self.hint is bool or (self.positional and self.default is None):
            return self.default
        if self.default in (None, ()):
            return None
        if self.hint == tuple[str, ...]:
            return list(self.default)
        text = self.default if isinstance(self.default, str) else written(self.default)
        return text if self.positional else [text]

    def given(self, typed: Any, command: str) -> Any:
        """What was typed: all of it where words may be repeated, since they may hold any separator. Otherwise the last
        word stands, as shells have it, except among specs, where all of them may be meant."""
        if not isinstance(typed, list) or self.hint == tuple[str, ...]:
            return typed
        if len(typed) > 1 and self.field.name in REGISTRIES:
            raise BrittleError(f"{command}: --{self.flag} is given {len(typed)} times", "Give it once.")
        return typed[-1] if typed else None


def parameters(kind: type, *, without: Iterable[str] = (), **changes: Mapping[str, Any]) -> list[CommandParameter]:
    """The parameters of a dataclass of options; `changes` are other helps and defaults, by the option's name."""
    return [
        replace(
            CommandParameter(kind, field, field.metadata.get("help", ""), field.default), **changes.get(field.name, {})
        )
        for field in options_of(kind).values()
        if field.name not in without
    ]


@dataclass(frozen=True)
class TypedArguments:
    """What was typed."""

    command: str
    parameters: Mapping[str, CommandParameter]
    typed: Mapping[str, Any]

    def check_specs(self) -> None:
        """Refuses what is misspelt before anything that it names is imported."""
        for key, value in self.typed.items():
            option = self.parameters[key].field.name
            for text in value if isinstance(value, list) else [value]:
                if option in REGISTRIES and isinstance(text, str):
                    check_spec(option, text)

    def of(self, kind: type, where: str = "") -> dict[str, Any]:
        """The options of one dataclass that have a value, checked and converted."""
        values = {
            self.parameters[key].field.name: value
            for key, value in self.typed.items()
            if self.parameters[key].group is kind and value is not None
        }
        return checked(kind, values, where or self.command)

    def made(self, kind: type[T]) -> T:
        return kind(**self.of(kind))


def add_command(
    app: typer.Typer,
    name: str,
    about: str,
    wanted: Iterable[CommandParameter],
    body: Callable[[TypedArguments], None],
    *,
    panel: str = OTHERS,
    short: Sequence[str] = (),
) -> None:
    """Adds a command to a panel of the help, also under shorter names; its body is called with what was typed."""
    by_key = {parameter.key: parameter for parameter in wanted}
    flags = [parameter.flag for parameter in by_key.values() if not parameter.positional]
    twice = next((flag for place, flag in enumerate(flags) if flag in flags[:place]), None)
    if twice is not None:
        raise BrittleError(f"the command {name!r} has two options --{twice}", "Rename one of them.")

    def call(**typed: Any) -> None:
        given = TypedArguments(name, by_key, {key: by_key[key].given(value, name) for key, value in typed.items()})
        given.check_specs()
        body(given)

    call.__signature__ = inspect.Signature([each.for_typer() for each in by_key.values()])  # type: ignore[attr-defined]
    app.command(name, help=about, short_help=_listed(about, short), rich_help_panel=panel)(call)
    for each in short:
        app.command(each, help=f"{about} Short for `brittle {name}`.", rich_help_panel=SHORT)(call)


def _listed(about: str, short: Sequence[str]) -> str:
    """What the list of commands says of one."""
    return f"{about} Short: {', '.join(short)}." if short else about


SHORT = "short forms"  # which help mentions beside what they are short for


class HelpPanels(TyperGroup):
    """Help that lists commands by what a user wants to know."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in PANELS}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            panel = str(getattr(command, "rich_help_panel", OTHERS))
            if command is not None and panel != SHORT:
                rows.setdefault(panel, []).append((name, command.get_short_help_str(limit=200)))
        for panel, several in rows.items():
            if several:
                formatter.write(f"\n{panel}\n")
                with formatter.indentation():
                    formatter.write_dl(several)


def shape(hint: Any) -> str:
    """The shape of a value, as help shows it."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return "|".join(shape(each) for each in inner if each is not type(None))
    if origin is Literal:
        return "|".join(map(str, inner))
    if origin is tuple and inner[0] is not str:
        return f"{shape(inner[0])}/…"
    return {int: "int", float: "float"}.get(hint, "str")
