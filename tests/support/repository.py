"""Where the repository is, found by its pyproject.toml, so that a test can be moved without counting folders."""

from __future__ import annotations

from pathlib import Path


def _root(start: Path) -> Path:
    found = next((folder for folder in start.parents if (folder / "pyproject.toml").is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no pyproject.toml above {start}")
    return found


REPOSITORY = _root(Path(__file__).resolve())
SOURCE, TESTS, DOCS, EXAMPLES = (REPOSITORY / name for name in ("src", "tests", "docs", "examples"))
GOLDEN = TESTS / "golden"
