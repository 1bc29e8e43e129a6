"""Options: dataclass fields that say what they are for and what they may be, checked in one place.

The spec grammar, the study file, the command line and the reference are all made from them. Nothing but the standard
library is imported, so that the command line needs no torch to print its help.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from brittle.errors import BrittleError
from brittle.registry.values import Limits, UnfitValue, described, fitted, nearest, quoted

K = TypeVar("K", bound=type)
MOST_LISTED = 60  # names in a message; a classifier may have a thousand classes


def option(
    default: Any,
    help: str,
    *,
    positional: bool = False,
    image_set: bool = False,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    choices: Sequence[Any] = (),
    finite: bool = True,
    fewest: int = 0,
    remedy: str = "",
    flag: str = "",
    rows: bool = True,
    extends: bool = False,
    shown: str = "",
) -> Any:
    """A dataclass field with one line of help; a positional one is the spec's `what`.

    A number lies above or is at least, and lies below or is at most; it is refused if not finite, unless `finite` is
    False. `choices` are all the values there are, where the annotation is not a Literal. In a list, these hold for
    each value, and there are at least `fewest`. `remedy` follows what is said of a wrong value. `flag` is the name on
    the command line where it is another one. An option that is an `image_set` holds its
    spec until whoever may open image sets has put the set itself in its place. `rows` is False where a measure's rows
    do not depend on the option, only its summary. `extends` is True where it says which rows there are, and never what
    they hold: a run may go on with another value. `shown` is how the value stands in the title of a thing, such as
    "σ {}°"; what is shown so stands there always, and other options only where they are not at their default.
    """
    limits = Limits(above, least, below, most, tuple(choices), finite, fewest, remedy)
    about = {"help": help, "positional": positional, "image_set": image_set, "flag": flag, "rows": rows}
    about |= {"extends": extends, "shown": shown}
    return dataclasses.field(default=default, metadata=about | {"limits": limits})


def options_of(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """The options of a kind, by the name a user types."""
    if not dataclasses.is_dataclass(kind):
        return {}
    return {field.name.replace("_", "-"): field for field in dataclasses.fields(kind) if field.init}


def extending(kind: type) -> dict[str, str]:
    """The options of a measure that say which rows there are: the name a user types → that of the field."""
    return {key: field.name for key, field in options_of(kind).items() if field.metadata.get("extends")}


def binds_rows(field: dataclasses.Field[Any]) -> bool:
    """Whether what the rows of a measure hold depends on an option."""
    return bool(field.metadata.get("rows", True)) and not field.metadata.get("extends")


@functools.cache
def hints_of(kind: type) -> dict[str, Any]:
    """The annotations of a kind, resolved."""
    return typing.get_type_hints(kind)


def hint_of(kind: type, field: dataclasses.Field[Any]) -> Any:
    return hints_of(kind)[field.name]


def limits_of(field: dataclasses.Field[Any]) -> Limits:
    limits: Limits = field.metadata.get("limits") or Limits()
    return limits


def allowed(kind: type, field: dataclasses.Field[Any]) -> str:
    """What an option may be, in words."""
    return described(hints_of(kind)[field.name], limits_of(field))


def is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The remedy for a wrong word: the nearest right one, or all of them, as far as a reader wants to see."""
    names = sorted(known)
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    return nearest(word, names) or (f"Known: {', '.join(names[:MOST_LISTED])}{more}." if names else "There are none.")


def convert(value: Any, hint: Any, where: str, field: dataclasses.Field[Any] | str) -> Any:
    """The value of an option, or text that stands for one → what its annotation says, within its limits.

    Numbers, booleans, words, choices, lists (as text a/b/c), and unions of these, also with None."""
    name, limits = (field, Limits()) if isinstance(field, str) else (_label(field), limits_of(field))
    try:
        return fitted(value, hint, limits)
    except UnfitValue as wrong:
        remedy = " ".join(filter(None, (wrong.remedy, limits.remedy)))
        raise BrittleError(f"{where}: {name} is {quoted(value)}, but {wrong.must}", remedy) from None


def checked(kind: type, values: Mapping[str, Any] | Iterable[tuple[str, Any]], where: str) -> dict[str, Any]:
    """Arguments for `kind` from options as a caller spells them: known, converted, none given twice, none missing."""
    known, hints = options_of(kind), hints_of(kind)
    arguments: dict[str, Any] = {}
    for key, value in values.items() if isinstance(values, Mapping) else values:
        spelled = key.replace("_", "-")
        if spelled not in known:
            raise BrittleError(f"{where} has no option {spelled!r}", did_you_mean(spelled, known))
        field = known[spelled]
        if field.name in arguments:
            raise BrittleError(f"{where}: {spelled} is given twice", "Give it once.")
        arguments[field.name] = convert(value, hints[field.name], where, field)
    for key, field in known.items():
        if is_required(field) and field.name not in arguments:
            example = "…" if field.metadata.get("positional") else f"{key}=…"
            raise BrittleError(
                f"{where} needs {key!r} ({field.metadata.get('help', '')})", f"For example {where}:{example}"
            )
    return arguments


def validated(name: str) -> Callable[[K], K]:
    """Class decorator for a dataclass of options: however one is made, its arguments are checked and converted first.

    `__post_init__` then sees only values that are right by themselves, and may check what they mean to each other."""

    def wrap(kind: K) -> K:
        if not dataclasses.is_dataclass(kind) or getattr(kind.__init__, "validates", None) is kind:
            return kind
        plain = kind.__init__
        signature, fields = inspect.signature(plain), {field.name: field for field in dataclasses.fields(kind)}

        @functools.wraps(plain)
        def init(self: Any, *arguments: Any, **options: Any) -> None:
            given = signature.bind(self, *arguments, **options).arguments
            del given[next(iter(given))]  # self
            for key in given.keys() & fields.keys():
                given[key] = convert(given[key], hints_of(kind)[key], name, fields[key])
            plain(self, **given)

        init.validates = kind  # type: ignore[attr-defined]
        kind.__init__ = init  # type: ignore[method-assign]
        return kind

    return wrap


def _label(field: dataclasses.Field[Any]) -> str:
    name, flag = field.name.replace("_", "-"), field.metadata.get("flag")
    return f"{name} (--{flag})" if flag else name
