"""Optional packages: none is listed that nothing uses."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {"scikit-learn": "sklearn", "scikit-sundae": "sksundae"}


def test_every_extra_is_used_by_something():
    """Each package that an extra lists, other than those for tests and benchmarks, is named by some import."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name, packages in extras.items():
        for package in packages if name not in ("dev", "bench") else ():
            plain = re.split(r"[<>=\[]", package)[0]
            module = MODULES.get(plain, plain)
            used = rf"(import|from) {module}\b|(import_module|library|find_spec)\(\s*\"{module}\b"
            assert re.search(used, source), f"nothing uses {plain}, of the extra {name}"
