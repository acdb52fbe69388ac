"""Documentation that cannot rot: every Python and console block of README and docs runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with the output shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def run_command(command: str, shown: list[str], folder: Path) -> None:
    words = shlex.split(command, comments=True)
    if words[0] != "surgeval":
        return
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    printed = {" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()}
    for line in shown:
        if (wanted := " ".join(line.split())) and wanted != "...":
            assert wanted in printed, f"{command}\nshows {wanted!r}, but printed:\n{done.stdout}"


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            for command, shown in commands(text):
                run_command(command, shown, tmp_path)


def test_the_page_of_verbs_is_what_help_says() -> None:
    from docs.generate import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "run make docs"


def test_every_public_name_has_a_docstring_and_a_home() -> None:
    import surgeval

    for name in surgeval.__all__:
        assert getattr(surgeval, name).__doc__, name


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "design").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
