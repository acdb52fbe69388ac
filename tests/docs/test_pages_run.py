"""Documentation that cannot rot: every Python and console block of README and docs runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import surgvalid
from docs import generate
from quick_demo import quick_demo
from repository import REPOSITORY
from surgvalid.cli._verbs import VERBS
from surgvalid.datasets import DATA_SETS
from surgvalid.metrics import METRICS
from surgvalid.questions.catalogue import TEMPLATES
from surgvalid.report.charts import CHARTS
from surgvalid.results.tables import TABLES
from surgvalid.schema.questions.formats import FORMATS
from surgvalid.scoring.official_score import PROFILES
from surgvalid.stats.comparing.paired_tests import TESTS
from surgvalid.stats.ranking import MERGES, RULES

ROOT = REPOSITORY
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


def run_command(command: str, shown: list[str], folder: Path, factory: pytest.TempPathFactory) -> None:
    words = shlex.split(command, comments=True)
    if words[0] != "surgvalid":
        return
    code, stdout, stderr = outcome(words, folder, factory)
    assert code in (0, 1), f"{command}\n{stderr}"
    assert "Traceback" not in stderr, stderr
    printed = {" ".join(line.split()) for line in (stdout + stderr).splitlines()}
    for line in shown:
        if (wanted := " ".join(line.split())) and wanted != "...":
            assert wanted in printed, f"{command}\nshows {wanted!r}, but printed:\n{stdout}"


def outcome(words: list[str], folder: Path, factory: pytest.TempPathFactory) -> tuple[int, str, str]:
    """Exit code and output of a command; the quick demo, which several pages begin with, is run once for all."""
    name = demo_out(words)
    if name is not None and not (folder / name).exists():
        ran = quick_demo(factory, folder / name, name=name)
        return ran.code, ran.stdout, ran.stderr
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, env=environment, timeout=900
    )
    return done.returncode, done.stdout, done.stderr


def demo_out(words: list[str]) -> str | None:
    """The folder of a plain quick demo, nothing but its name being chosen; None for any other command."""
    plain = [word for word in words if word != "--force"]
    return plain[4] if plain[:4] == ["surgvalid", "demo", "--quick", "--out"] and len(plain) == 5 else None


def test_only_the_plain_quick_demo_is_shared() -> None:
    assert demo_out("surgvalid demo --quick --out here --force".split()) == "here"
    for other in (
        "demo --out x",
        "demo --quick --out x --seed 3",
        "score --quick --out x",
        "demo --quick --pdf --out x",
    ):
        assert demo_out(["surgvalid", *other.split()]) is None


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_block_of_the_page_runs(
    page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
        else:
            for command, shown in commands(text):
                run_command(command, shown, tmp_path, tmp_path_factory)


GENERATED = {module.PAGE.name: module for module in generate.PAGES}


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_a_generated_page_is_what_the_code_says_now(name: str) -> None:
    assert GENERATED[name].PAGE.read_text(encoding="utf-8") == GENERATED[name].page(), "run make docs"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("python.md", sorted(surgvalid.__all__)),
        ("cli.md", sorted(verb.name for verb in VERBS)),
        ("metrics.md", sorted(METRICS)),
        ("rules.md", sorted([*RULES, *MERGES, *TESTS, *PROFILES, *FORMATS])),
        ("question-templates.md", sorted(template.name for template in TEMPLATES)),
        ("datasets.md", sorted(DATA_SETS)),
        ("charts.md", sorted(CHARTS)),
        (
            "tables.md",
            sorted({name for tables in TABLES.values() for name in tables} - {"result"}),
        ),
    ],
)
def test_everything_that_can_be_named_is_documented(page: str, names: list[str]) -> None:
    text = GENERATED[page].PAGE.read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf"(^#+ .*|`){re.escape(name)}\b", text, re.MULTILINE)] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]]
    assert [page for page in pages if f" {page}\n" not in nav] == []


def test_every_public_name_has_a_docstring_and_a_home() -> None:
    for name in surgvalid.__all__:
        assert getattr(surgvalid, name).__doc__, name


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", *(ROOT / "design").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
