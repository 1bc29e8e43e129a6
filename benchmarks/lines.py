"""Lines of the package at several commits, by part: `python benchmarks/lines.py 1eb76ea main` prints a table.

Counted are Python, templates, styles and scripts below src/brittle, as they stand in the repository. Functions per
measure that are generated, and pages that are built, have a row of their own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from trees import full_hash, git

SOURCE = "src/brittle/"
COUNTED = (".py", ".j2", ".css", ".js", ".html")
GENERATED = "generated functions"
MODULES = "single modules"


def part(path: str) -> str:
    """What a file belongs to: a package, or the modules beside them."""
    inside = path.removeprefix(SOURCE)
    if inside.startswith("api/generated/"):
        return GENERATED
    return inside.partition("/")[0] + "/" if "/" in inside else MODULES


def lines(commit: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for path in git("ls-tree", "-r", "--name-only", commit, "--", SOURCE).splitlines():
        if path.endswith(COUNTED):
            found[part(path)] += len(git("show", f"{commit}:{path}").splitlines())
    return found


def table(commits: Sequence[str], found: Mapping[str, Counter[str]]) -> str:
    def row(title: str, counts: Sequence[int]) -> str:
        return f"| {title} | {' | '.join(f'{count:,}' if count else '–' for count in counts)} |"

    parts = sorted({each for counts in found.values() for each in counts} - {GENERATED, MODULES})
    written = [sum(found[each].values()) - found[each][GENERATED] for each in commits]
    return "\n".join(
        [
            f"| part | {' | '.join(commits)} |",
            f"| --- {'| ---: ' * len(commits)}|",
            *(row(f"`{each}`", [found[commit][each] for commit in commits]) for each in parts),
            row(MODULES, [found[commit][MODULES] for commit in commits]),
            row("**written by hand**", written),
            row(GENERATED, [found[commit][GENERATED] for commit in commits]),
        ]
    )


def main() -> None:
    commits = sys.argv[1:] or ["HEAD"]
    print(table(commits, {each: lines(full_hash(each)) for each in commits}))


if __name__ == "__main__":
    main()
