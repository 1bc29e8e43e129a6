"""What runs ONNX graphs in a browser: two files of the npm package onnxruntime-web, too large to come with Brittle."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from brittle.errors import BrittleError, Failure

VERSION = "1.30.0"
PACKAGE = f"onnxruntime-web@{VERSION}"
# By file of its folder `dist`, the SHA-256 of what npm has.
FILES = {
    "ort.wasm.bundle.min.mjs": "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    "ort-wasm-simd-threaded.wasm": "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
}
# A file server that knows no .mjs may give it a type that browsers don't run.
NAMES = {"ort.wasm.bundle.min.mjs": "ort.js", "ort-wasm-simd-threaded.wasm": "ort-wasm-simd-threaded.wasm"}
BELOW = ("", "dist", "package/dist", "node_modules/onnxruntime-web/dist")
LARGEST = 64 << 20  # bytes of a file
NPM, OFF = "npm", "off"
HELP = (
    f"Give --runtime {NPM} to fetch {PACKAGE} with npm, --runtime FOLDER if you have it, or --runtime {OFF} for a "
    "site with nothing live."
)

Runtime = Mapping[str, bytes]  # by name in the bundle


def find_runtime(where: str | None) -> Runtime:
    """The files of the runtime: from a folder or an archive that `npm pack` made, from npm, or from where npm has put
    them below the current folder. Empty where none is wanted."""
    if where == OFF:
        return {}
    if where == NPM:
        return _from_npm()
    if where is None:
        found = next((each for each in map(_folder, [Path(), *Path.cwd().parents]) if each is not None), None)
        if found is None:
            raise BrittleError(f"--bundle needs {PACKAGE}, 14 MB that come from npm and not with Brittle", HELP)
        return _checked({name: _read(found / name) for name in FILES}, str(found))
    path = Path(where)
    if path.is_file():
        return _from_archive(path)
    found = _folder(path)
    if found is None:
        raise BrittleError(f"{where} holds no {' and '.join(FILES)} of {PACKAGE}", HELP)
    return _checked({name: _read(found / name) for name in FILES}, where)


def _folder(start: Path) -> Path | None:
    places = (start / below for below in BELOW)
    return next((each for each in places if all((each / name).is_file() for name in FILES)), None)


def _read(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise BrittleError(f"{path} is too large to be part of {PACKAGE}", HELP)
    return path.read_bytes()


def _from_archive(path: Path) -> Runtime:
    found = {}
    try:
        with tarfile.open(path) as archive:
            for name in FILES:
                member = archive.getmember(f"package/dist/{name}")
                file = archive.extractfile(member) if member.isfile() and member.size <= LARGEST else None
                found[name] = b"" if file is None else file.read()
    except (tarfile.TarError, KeyError, OSError) as error:
        raise BrittleError(f"{path} is not an archive of {PACKAGE}", HELP) from error
    return _checked(found, str(path))


def _from_npm() -> Runtime:
    npm = shutil.which("npm")
    if npm is None:
        raise BrittleError("--runtime npm needs the program npm", f"Install it, or fetch {PACKAGE} elsewhere. {HELP}")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [npm, "pack", PACKAGE, "--ignore-scripts", "--silent", "--pack-destination", folder],
            capture_output=True,
            text=True,
            check=False,
        )
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or not archives:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise Failure(f"npm can't fetch {PACKAGE}: {lines[-1][:200]}", HELP)
        return _from_archive(archives[0])


def _checked(files: Mapping[str, bytes], where: str) -> Runtime:
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != FILES[name]:
            raise BrittleError(f"{name} in {where} is not that of {PACKAGE}: its SHA-256 differs", HELP)
    return {NAMES[name]: content for name, content in files.items()}
