"""A test that is moved finds its files as before: none counts folders, and shared data have one finder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from repository import DOCS, EXAMPLES, GOLDEN, REPOSITORY, SOURCE, TESTS
from shared_data import VARIABLE, absent, shared, shared_root

COUNTING = re.compile(r"Path\(__file__\)(\.resolve\(\))?\.parent(s\[|s\b|\.parent)")
SHARED = re.compile(r'/ "shared" /')
FIRST = {"host/conftest.py"}
"""What runs before the folder of finders can be imported from."""


def test_the_repository_and_its_folders_are_there() -> None:
    assert (REPOSITORY / "pyproject.toml").is_file()
    assert all(folder.is_dir() for folder in (DOCS, EXAMPLES, GOLDEN, SOURCE, TESTS))


@pytest.mark.parametrize("pattern", [COUNTING, SHARED], ids=["folders", "shared data"])
def test_no_test_counts_folders(pattern: re.Pattern[str]) -> None:
    files = (path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).as_posix() not in FIRST)
    counting = [path.name for path in files if pattern.search(path.read_text(encoding="utf-8"))]
    assert [name for name in counting if name != Path(__file__).name] == []


def test_shared_data_are_where_they_are_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("a\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert shared_root() == tmp_path
    assert shared("data", "a.csv") == tmp_path / "data" / "a.csv"
    with pytest.raises(pytest.skip.Exception, match=r"shared data data/b\.csv is not here"):
        shared("data", "b.csv")
    assert str(tmp_path) in absent("data", "b.csv")
