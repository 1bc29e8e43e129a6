"""A power cut: what a process has written and not flushed is gone, contents of files and names in folders alike.

While it works, `shim.c` copies whatever is flushed: a file's bytes by its inode, and which names a folder holds. What
was there before the process began counts as flushed. Afterwards the folder is made anew of that alone: a name that was
not flushed is gone, a file whose bytes were not is empty, and one that was removed is there again unless its folder was
flushed since. The way to a folder that was flushed is kept, as journaling filesystems do.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Disk:
    """What is on the disk of a folder, whatever a process has written there."""

    def __init__(self, folder: Path, kept: Path) -> None:
        self.folder, self.kept = folder.resolve(), kept
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for path, folders, files in os.walk(self.folder):
            self._keep_folder(Path(path), [*folders, *files])
            for name in files:
                there = Path(path, name)
                shutil.copyfile(there, kept / f"f{there.lstat().st_ino}")

    def _keep_folder(self, path: Path, names: list[str]) -> None:
        def line(name: str) -> str:
            there = path / name
            return f"{'d' if there.is_dir() else 'f'}{there.lstat().st_ino} {name}"

        (self.kept / f"d{path.lstat().st_ino}").write_text("\n".join([str(path), *map(line, sorted(names))]) + "\n")

    def cut_power(self) -> int:
        """Leaves what is on the disk; how many files are gone, or hold something else, by that."""
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        folders = [path.read_text().splitlines() for path in self.kept.glob("d*") if path.suffix != ".half"]
        for each in self.folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        for path, *entries in folders:
            Path(path).mkdir(parents=True, exist_ok=True)
            for number, name in (entry.split(" ", 1) for entry in entries):
                if number.startswith("d"):
                    Path(path, name).mkdir(exist_ok=True)
                elif (bytes_of := self.kept / number).is_file():
                    shutil.copyfile(bytes_of, Path(path, name))
                else:
                    Path(path, name).touch()
        return sum(not path.is_file() or path.read_bytes() != content for path, content in before.items())
