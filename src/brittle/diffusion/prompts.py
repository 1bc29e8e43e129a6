"""What is asked of a pipeline in words: the paper's two templates, and the word that stands for a class."""

from __future__ import annotations

from collections.abc import Mapping

from brittle.errors import BrittleError

CLASS_PROMPT = "a picture of a {class}"
SHIFT_PROMPT = "a picture of a {class} in {shift}"


def prompt(template: str, word: str, shift: str = "") -> str:
    """A template with a class's word, and the words of a shift, put in."""
    return template.replace("{class}", word).replace("{shift}", shift)


def check_template(template: str, *, shift: bool) -> None:
    """Refuses a template that would give every class, or every shift, the same prompt."""
    for what in ("{class}", *(["{shift}"] if shift else [])):
        if what not in template:
            raise BrittleError(f"the prompt {template!r} has no {what}", f"Write it as in {SHIFT_PROMPT!r}.")


def word_of(name: str, words: Mapping[str, str]) -> str:
    """The word that stands for a class in prompts: one that was learned for it (by its name in lower case), or that."""
    return words.get(name.lower(), name.lower())
