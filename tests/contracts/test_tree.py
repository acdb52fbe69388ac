"""The tree holds what somebody put there on purpose, and nothing that a run left behind."""

import subprocess
from pathlib import Path

import pytest

from repository import REPOSITORY

ROOT = REPOSITORY
TOP_LEVEL = {
    ".ci", ".dockerignore", ".github", ".gitignore", ".gitlab-ci.yml", ".pre-commit-config.yaml", "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE", "README.md", "SECURITY.md", "bench",
    "design", "docs", "examples", "hatch_build.py", "mkdocs.yml", "packaging", "pyproject.toml", "scripts",
    "src", "tests", "RELEASING.md",
}  # fmt: skip
WRITTEN_BY_VERBS = {"manifest.json", "lint.json", "scores.parquet", "verdicts.jsonl", "results.csv", "summary.csv"}


def tracked() -> list[Path]:
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip("no version control here, so nobody can say what was put there")
    return [Path(name) for name in asked.stdout.split("\0") if name]


def test_the_top_level_holds_only_what_is_listed_here():
    assert {path.parts[0] for path in tracked()} <= TOP_LEVEL


def test_results_of_runs_are_kept_only_among_the_golden_files():
    strays = [path for path in tracked() if path.name in WRITTEN_BY_VERBS and path.parts[:2] != ("tests", "golden")]
    assert strays == []
