from pathlib import Path


def write_report(folder: Path) -> Path:
    return folder / "report.html"
