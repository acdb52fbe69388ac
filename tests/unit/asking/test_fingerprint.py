"""A program is another one when anything beside it changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from surgvalid.asking.fingerprint import command_marks, joint_mark


@pytest.mark.parametrize("name", ["helper.py", "weights.safetensors", "settings.json", "words", "deep/weights.bin"])
def test_a_changed_file_beside_the_program_is_another_program(tmp_path: Path, name: str) -> None:
    (tmp_path / "app.py").write_text("print('hello')")
    beside = tmp_path / name
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(b"first")
    before = joint_mark(command_marks(["python", str(tmp_path / "app.py")]))
    beside.write_bytes(b"later")
    assert joint_mark(command_marks(["python", str(tmp_path / "app.py")])) != before


def test_what_a_run_leaves_beside_the_program_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("print('hello')")
    before = command_marks([str(tmp_path / "app.py")])
    left = tmp_path / "out"
    left.mkdir()
    for name in ("run.json", "events.jsonl", "answers.jsonl"):
        (left / name).write_text("{}")
    assert command_marks([str(tmp_path / "app.py")]) == before
