"""Every data set as it lies on people's disks: what other systems leave behind or change is nothing to the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_set_files import BUILDERS
from surgvalid.datasets import open_data_set

TEXTS = (".txt", ".csv", ".json")
LEFT_BY_MACOS = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \xff\xfe"


def files_below(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def with_what_systems_leave(root: Path) -> None:
    for path in files_below(root):
        copied = root / "__MACOSX" / path.relative_to(root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        for place in (path, copied):
            place.with_name(f"._{path.name}").write_bytes(LEFT_BY_MACOS)
            place.with_name(".DS_Store").write_bytes(LEFT_BY_MACOS)
        path.with_name("Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0")
    (root / "download.zip").write_bytes(b"PK\x03\x04")
    (root / "README").write_bytes("where this came from".encode("utf-16"))


def with_windows_lines_and_marks(root: Path) -> None:
    for path in files_below(root):
        if path.suffix in TEXTS:
            text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            path.write_bytes(b"\xef\xbb\xbf" + text)


def in_small_letters(root: Path) -> None:
    _renamed(root, str.lower)


def in_capital_letters(root: Path) -> None:
    _renamed(root, str.upper)


def _renamed(root: Path, spelled: object) -> None:
    assert callable(spelled)
    for path in sorted(root.rglob("*"), key=lambda one: -len(one.parts)):
        path.rename(path.with_name(spelled(path.name)))


DISORDERS = (with_what_systems_leave, with_windows_lines_and_marks, in_small_letters, in_capital_letters)


def read(name: str, root: Path) -> dict[str, list[str]]:
    """The references of every task without the places of files; only videos, which splits name, are spelled alike."""
    data_set = open_data_set(name)
    usable = data_set.check(root).usable
    found = {"splits": sorted(map(repr, data_set.splits(root).rows()))}
    for task in data_set.tasks:
        if task not in usable:
            found[task] = []
            continue
        table = data_set.references(root, task=task).table
        others = [column for column in table.columns if column != "video" and not column.endswith("_file")]
        rows = table.select("video", *others).rows()
        found[task] = sorted(f"{video} {repr(rest).lower()}" for video, *rest in rows)
    return found


@pytest.mark.parametrize("disorder", DISORDERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", BUILDERS)
def test_disorder_changes_no_reference(name: str, disorder: object, tmp_path: Path) -> None:
    assert callable(disorder)
    BUILDERS[name](tmp_path)
    orderly = read(name, tmp_path)
    assert any(orderly[task] for task in open_data_set(name).tasks)
    disorder(tmp_path)
    assert read(name, tmp_path) == orderly


@pytest.mark.parametrize("name", BUILDERS)
def test_what_systems_leave_behind_is_no_finding(name: str, tmp_path: Path) -> None:
    BUILDERS[name](tmp_path)
    orderly = {str(finding) for finding in open_data_set(name).check(tmp_path).findings}
    with_what_systems_leave(tmp_path)
    assert {str(finding) for finding in open_data_set(name).check(tmp_path).findings} == orderly
