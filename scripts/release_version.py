"""Make the tree speak of a new version: `python scripts/release_version.py X.Y.Z`.

Sets the version in pyproject.toml, the package, the recipe and CITATION.cff, and dates the entry "Unreleased" of
CHANGELOG.md, leaving a new empty one above it. Nothing is committed, tagged or uploaded.
"""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def main(version: str, *, root: Path = ROOT, today: datetime.date | None = None) -> None:
    """Rewrite the files that name the version."""
    changelog = root / "CHANGELOG.md"
    problems = []
    if not _VERSION.fullmatch(version):
        problems.append(f"a version has the form X.Y.Z, got {version!r}")
    if "\n## Unreleased\n" not in changelog.read_text(encoding="utf-8"):
        problems.append("CHANGELOG.md has no entry '## Unreleased': there is nothing to release")
    if problems:
        raise SystemExit("\n".join(problems))
    date = (today or datetime.date.today()).isoformat()
    _replace(changelog, "\n## Unreleased\n", f"\n## Unreleased\n\n## {version} ({date})\n")
    _replace(root / "pyproject.toml", r'\nversion = "[^"]+"\n', f'\nversion = "{version}"\n', pattern=True)
    module = root / "src" / "surgvalid" / "__init__.py"
    _replace(module, r'\n__version__ = "[^"]+"\n', f'\n__version__ = "{version}"\n', pattern=True)
    recipe = root / "packaging" / "recipe.yaml"
    _replace(recipe, r'\n  version: "[^"]+"\n', f'\n  version: "{version}"\n', pattern=True)
    citation = root / "CITATION.cff"
    _replace(citation, r"\nversion: .+\n", f"\nversion: {version}\n", pattern=True)
    _replace(citation, r"\n(date-released: .+\n)?license:", f"\ndate-released: {date}\nlicense:", pattern=True)


def _replace(path: Path, old: str, new: str, *, pattern: bool = False) -> None:
    text = path.read_text(encoding="utf-8")
    changed, times = re.subn(old if pattern else re.escape(old), new.replace("\\", r"\\"), text, count=1)
    if not times:
        raise SystemExit(f"{path.name}: found nothing to replace for {old!r}")
    path.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
