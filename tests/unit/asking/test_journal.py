"""Answers are on disk before the next question: torn lines, full disks, other runs."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from surgvalid.asking.journal import (
    ANSWERS,
    LOG,
    RESERVE,
    RUN,
    TROUBLE_LOG,
    Journal,
    Record,
    final_records,
    read_journal,
)
from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.errors import FileUnreadable, Misuse, RunInterrupted

ME = {"questions": "abc", "seed": 1}


def record(case: str, outcome: ExchangeOutcome = ExchangeOutcome.OK, content: str | None = "yes") -> Record:
    return Record(case, "v", outcome, 0.25, content, extra={"k": [1]} if content else None, session=1)


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    given = [record("a"), record("b", ExchangeOutcome.TIMEOUT, None), record("ü\n", content="Größe\n\u2028")]
    with Journal(tmp_path, ME) as journal:
        for one in given:
            journal.add(one)
    assert list(read_journal(tmp_path)) == given


def test_what_utf_8_cannot_hold_is_kept_all_the_same(tmp_path: Path) -> None:
    with Journal(tmp_path, ME) as journal:
        journal.add(record("a", content="\ud800"))
        journal.event("answer_file", findings=["\udc00"])
    assert [one.content for one in read_journal(tmp_path)] == ["\ud800"]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with Journal(tmp_path, ME) as journal:
        assert not journal.resumed
        journal.add(record("a"))
    with Journal(tmp_path, ME) as journal:
        assert journal.resumed
        assert journal.done() == {"a"}
        journal.add(record("b"))
    assert [r.case for r in read_journal(tmp_path)] == ["a", "b"]


def test_another_run_is_refused_and_named(tmp_path: Path) -> None:
    with Journal(tmp_path, ME):
        pass
    with pytest.raises(Misuse, match="holds another run: seed differ"):
        Journal(tmp_path, ME | {"seed": 2})


@pytest.mark.parametrize("torn", [b"{", b'{"case": "c", "outcome": "ok"}', b"x" * 200_000])
def test_a_torn_last_line_is_removed_and_nothing_else(tmp_path: Path, torn: bytes) -> None:
    with Journal(tmp_path, ME) as journal:
        journal.add(record("a"))
        journal.add(record("b"))
    with open(tmp_path / ANSWERS, "ab") as handle:
        handle.write(torn)
    assert [r.case for r in read_journal(tmp_path)] == ["a", "b"]
    with Journal(tmp_path, ME) as journal:
        assert journal.done() == {"a", "b"}
        journal.add(record("c"))
    assert [r.case for r in read_journal(tmp_path)] == ["a", "b", "c"]


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path, ME) as journal:
        journal.add(record("a"))
    with open(tmp_path / ANSWERS, "ab") as handle:
        handle.write(b'{"case": "b", "outcome": "splendid"}\n')
    with pytest.raises(FileUnreadable, match="line 2"):
        list(read_journal(tmp_path))


def test_a_broken_description_is_named(tmp_path: Path) -> None:
    (tmp_path / RUN).write_text("[]")
    with pytest.raises(FileUnreadable, match="not the description of a run"):
        Journal(tmp_path, ME)


def test_only_a_failure_of_ours_is_asked_again_and_its_last_outcome_counts(tmp_path: Path) -> None:
    with Journal(tmp_path, ME) as journal:
        journal.add(record("a", ExchangeOutcome.INFRA_ERROR, None))
        journal.add(record("b", ExchangeOutcome.CRASHED, None))
        journal.add(record("c", ExchangeOutcome.INFRA_ERROR, None))
        assert journal.done() == {"b"}
        journal.add(record("a"))
        journal.add(record("c", ExchangeOutcome.INFRA_ERROR, None))
    found = {r.case: r.outcome for r in final_records(tmp_path)}
    assert found == {"a": ExchangeOutcome.OK, "b": ExchangeOutcome.CRASHED, "c": ExchangeOutcome.INFRA_ERROR}
    assert len(list(final_records(tmp_path))) == 3


class FullDisk:
    """Writes fail half-way through a line until room is made by giving up the reserve."""

    def __init__(self, folder: Path, *, hopeless: bool = False) -> None:
        self.reserve, self.hopeless, self.real = folder / RESERVE, hopeless, os.write

    def __call__(self, descriptor: int, data: bytes) -> int:
        if self.hopeless or self.reserve.exists():
            self.real(descriptor, bytes(data[:7]))
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.real(descriptor, data)


def test_a_full_disk_loses_no_answer_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, ME)
    journal.add(record("a"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(tmp_path))
        with pytest.raises(RunInterrupted, match="disk is full; the answer to b was still stored"):
            journal.add(record("b"))
    journal.close()
    assert [r.case for r in read_journal(tmp_path)] == ["a", "b"]


def fill(journal: Journal, given: list[str]) -> None:
    while True:
        given.append(f"q{len(given)}")
        journal.add(record(given[-1], content="x" * 50_000))


def test_a_really_full_disk_loses_no_answer_either(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        journal = Journal(small, ME)
        given: list[str] = []
        with pytest.raises(RunInterrupted, match="was still stored"):
            fill(journal, given)
        journal.close()
        assert [r.case for r in read_journal(small)] == given
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_disk_without_any_room_keeps_whole_lines_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, ME)
    journal.add(record("a"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FullDisk(tmp_path, hopeless=True))
        with pytest.raises(RunInterrupted, match="will be asked again"):
            journal.add(record("b"))
    journal.close()
    lines = (tmp_path / ANSWERS).read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["a"]
    with Journal(tmp_path, ME) as again:
        again.add(record("b"))
    assert [r.case for r in read_journal(tmp_path)] == ["a", "b"]


def test_another_failure_of_the_disk_stops_the_run_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    journal = Journal(tmp_path, ME)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", broken)
        with pytest.raises(RunInterrupted, match="Input/output error"):
            journal.add(record("a"))
    journal.close()


def test_what_a_container_printed_is_kept_and_never_stops_a_run(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", {"a": 1}) as journal:
        journal.keep_log(b"trouble", in_trouble=True)
        journal.keep_log(b"fine", in_trouble=False)
        assert [(tmp_path / "out" / name).read_bytes() for name in (LOG, TROUBLE_LOG)] == [b"fine", b"trouble"]
        journal.keep_log(b" \n", in_trouble=True)
        assert (tmp_path / "out" / TROUBLE_LOG).read_bytes() == b"trouble"
        (tmp_path / "out" / LOG).unlink()
        (tmp_path / "out" / LOG).mkdir()  # cannot be written, as on a full disk
        journal.keep_log(b"more", in_trouble=True)
        assert (tmp_path / "out" / TROUBLE_LOG).read_bytes() == b"more"
