"""A folder of sliders: which class and shift each file is for, read from the files themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brittle.diffusion.sliders import Sliders, read_slider, write_slider
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.libraries import first_line

CLASS, SHIFT = "class", "shift"  # keys of a file's metadata


def slider_file(folder: Path, name: str, shift: str) -> Path:
    """Where the slider of a class and a shift is kept."""
    return folder / f"{plain_name(name)}+{plain_name(shift)}.safetensors"


def plain_name(text: str) -> str:
    """A name as part of a file's."""
    return "_".join(text.replace("/", " ").split())


def keep_slider(folder: Path, name: str, shift: str, sliders: Sliders, place: int, about: Mapping[str, str]) -> Path:
    """Writes the slider of a class and a shift."""
    file = slider_file(folder, name, shift)
    write_slider(file, sliders, place, {CLASS: name, SHIFT: shift, **about})
    return file


def sliders_in(folder: Path | str) -> dict[tuple[str, str], Path]:
    """(class in lower case, shift) → file."""
    import safetensors

    place = Path(real_path(str(folder)))
    if not place.is_dir():
        raise BrittleError(f"there is no folder {folder}", "Name the folder that holds the sliders.")
    found: dict[tuple[str, str], Path] = {}
    for file in sorted(place.glob("*.safetensors")):
        try:
            with safetensors.safe_open(file, "pt") as opened:
                about = opened.metadata() or {}
        except (safetensors.SafetensorError, OSError) as error:
            raise BrittleError(f"{file} is not a slider: {first_line(error)}", "Train it again.") from error
        if CLASS not in about or SHIFT not in about:
            raise BrittleError(f"{file} doesn't say which class and shift it is for", "Train it with brittle.")
        other = found.setdefault((about[CLASS].lower(), about[SHIFT]), file)
        if other != file:
            raise BrittleError(f"{other} and {file} are both for {about[CLASS]} in {about[SHIFT]}", "Remove one.")
    if not found:
        raise BrittleError(f"{folder} holds no sliders", "Name the folder that holds the sliders' .safetensors.")
    return found


def slider_of(files: Mapping[tuple[str, str], Path], name: str, shift: str) -> Sliders:
    file = files.get((name.lower(), shift))
    if file is None:
        raise BrittleError(f"there is no slider for {name} in {shift}", "Train it, or leave the class or shift out.")
    return read_slider(file, f"{name} in {shift}")
