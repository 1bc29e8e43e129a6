"""The wheel holds all it needs, and works in an environment that never saw the repository."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[1]
INSIDE = [
    "brittle/demo.toml",
    "brittle/py.typed",
    "brittle/images/data/fashion-sample.npz",
    "brittle/images/data/NOTICE",
    "brittle/imagenet/classes.tsv",
    "brittle/imagenet/NOTICE",
    "brittle/classifiers/data/plain.safetensors",
    "brittle/classifiers/data/augmented.safetensors",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(REPOSITORY)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    return next(out.glob("brittle-*.whl"))


def test_the_wheel_holds_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert set(INSIDE) <= names
    source = REPOSITORY / "src"
    files = (path for path in (source / "brittle").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert {str(path.relative_to(source)) for path in files} <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_the_wheel_works_where_the_repository_is_not(wheel, tmp_path):
    """Brittle itself comes from the wheel alone; what it depends on is lent by the environment of the tests."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    site = next((place / "lib").glob("python*/site-packages"))
    (site / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*install, "--ignore-installed", str(wheel)], check=True, capture_output=True)
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}

    def said(*command):
        return subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=True).stdout

    assert Path(said(python, "-c", "import brittle; print(brittle.__file__)")).is_relative_to(site)
    found = json.loads(
        said(
            *(place / "bin" / "brittle", "measure", "bundled:plain", "sample"),
            *("--nuisance", "affine", "--count", "50", "--samples", "5", "--json"),
        )
    )
    assert (found["images"], found["samples"]) == (50, 5)
