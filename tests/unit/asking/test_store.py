"""What was acknowledged is kept: kills, several writers, cut lines, files of an earlier version."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import surgvalid
from surgvalid.asking.lines import DAMAGED, LineFile
from surgvalid.asking.store import Asked, ContentStore, hashed
from surgvalid.asking.store_care import counted, damaged_lines, merged
from surgvalid.errors import FileUnreadable, RunInterrupted

WRITER = """
import sys
sys.path.insert(0, {source!r})
from surgvalid.asking.store import ContentStore, hashed
store = ContentStore({path!r})
for number in range({count}):
    store.put(hashed([{name!r}, number]), {{"kind": "answer", "text": "x" * (number * 37 % 900)}})
    print(number, flush=True)
"""


def text_of(store: ContentStore, key: str) -> str | None:
    return store.get(key, lambda row: row["text"])


def writer(path: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    source = str(Path(surgvalid.__file__).parents[1])
    code = WRITER.format(source=source, path=str(path), name=name, count=count)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def filled(path: Path, count: int = 3) -> ContentStore:
    store = ContentStore(path)
    for number in range(count):
        store.put(hashed(number), {"kind": "answer", "text": f"reply {number}"})
    return store


def test_nothing_is_made_before_the_first_reply(tmp_path: Path) -> None:
    assert len(ContentStore(tmp_path / "store")) == 0
    assert not (tmp_path / "store").exists()


def test_a_reply_is_found_at_once_and_by_the_next_run(tmp_path: Path) -> None:
    store = filled(tmp_path / "store")
    for found in (store, ContentStore(tmp_path / "store")):
        assert [text_of(found, hashed(number)) for number in range(4)] == ["reply 0", "reply 1", "reply 2", None]
        assert len(found) == 3


def test_the_first_reply_counts(tmp_path: Path) -> None:
    one, two = ContentStore(tmp_path / "store"), ContentStore(tmp_path / "store")
    one.put(hashed(1), {"text": "first"})
    two.put(hashed(1), {"text": "second"})
    one.put(hashed(1), {"text": "third"})
    again = ContentStore(tmp_path / "store")
    assert (text_of(again, hashed(1)), len(again)) == ("first", 1)
    assert [row["text"] for row in again.rows()] == ["first"]
    assert sum(len(segment.read_text().splitlines()) for segment in again.segments()) == 2  # the third was not written


def test_every_part_of_what_was_asked_is_in_the_key() -> None:
    asked = Asked("answer", "m", ("q",))
    others = [
        Asked("verdict", "m", ("q",)), Asked("answer", "n", ("q",)), Asked("answer", "m", ("r",)),
        Asked("answer", "m", ("q",), prompt="2"), Asked("answer", "m", ("q",), revision="abc"),
        Asked("answer", "m", ("q",), parameters={"temperature": 1}), Asked("answer", "m", ("q",), media="8 frames"),
    ]  # fmt: skip
    assert len({asked.key, *(other.key for other in others)}) == len(others) + 1
    assert asked.key == Asked("answer", "m", ("q",)).key


@pytest.mark.parametrize("writers", [2, 4])
def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path, writers: int) -> None:
    processes = [writer(tmp_path / "store", f"w{number}", 50) for number in range(writers)]
    for process in processes:
        process.communicate(timeout=60)
    store = ContentStore(tmp_path / "store")
    assert len(store) == 50 * writers
    assert store.problems == []
    assert len(store.segments()) <= writers


def test_segments_are_used_again_by_later_runs(tmp_path: Path) -> None:
    for number in range(5):
        with ContentStore(tmp_path / "store") as store:
            store.put(hashed(number), {"text": "x"})
    assert len(ContentStore(tmp_path / "store").segments()) == 1


@pytest.mark.parametrize("after", [1, 2, 7, 40, 101])
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path, after: int) -> None:
    process = writer(tmp_path / "store", "w", 100_000)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout.read().split(b"\n")[:-1]]
    process.wait(timeout=20)
    process.stdout.close()
    store = ContentStore(tmp_path / "store")
    assert all(text_of(store, hashed(["w", number])) == "x" * (number * 37 % 900) for number in acknowledged)
    store.put(hashed("more"), {"text": "more"})
    assert text_of(ContentStore(tmp_path / "store"), hashed("more")) == "more"


@pytest.mark.parametrize("one_file", [False, True])
def test_a_tail_torn_at_any_byte_costs_one_reply_and_is_named(tmp_path: Path, one_file: bool) -> None:
    path = tmp_path / ("store.jsonl" if one_file else "store")
    with filled(path) as store:
        segment = store.segments()[0]
    whole = segment.read_bytes()
    start = whole[:-1].rfind(b"\n") + 1
    for end in range(start + 1, len(whole)):
        segment.write_bytes(whole[:end])
        with ContentStore(path) as store:
            assert len(store) == 2
            assert len(store.problems) == 1
            store.put(hashed(2), {"text": "again"})
        mended = one_file and end == len(whole) - 1  # only its end was missing, and the next line brought it
        with ContentStore(path) as store:
            assert text_of(store, hashed(2)) == ("reply 2" if mended else "again")
            assert len(store.problems) == int(one_file and not mended)
        if not one_file:
            damaged = segment.with_name(segment.name + DAMAGED)
            assert damaged.read_bytes() == whole[start:end] + b"\n"
            damaged.unlink()


def test_a_line_still_on_its_way_is_not_called_damaged(tmp_path: Path) -> None:
    store = filled(tmp_path / "store")
    with open(store.segments()[0], "ab") as handle:
        handle.write(b'{"key": "ab')
    assert ContentStore(tmp_path / "store").problems == []
    store.close()
    assert len(ContentStore(tmp_path / "store").problems) == 1


def test_a_line_damaged_in_the_middle_is_named_and_asked_again(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as store:
        segment = store.segments()[0]
    segment.write_bytes(segment.read_bytes().replace(b'"reply 1"', b'"reply \x001'))
    store = ContentStore(tmp_path / "store")
    assert text_of(store, hashed(1)) is None
    assert len(store.problems) == 1
    assert str(damaged_lines(store)[0]).startswith("segment-001.jsonl line 2: ")
    store.put(hashed(1), {"text": "again"})
    assert text_of(ContentStore(tmp_path / "store"), hashed(1)) == "again"


def test_keys_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    keys = ["0" * 16 + letter * 24 for letter in "abc"]
    store = ContentStore(tmp_path / "store")
    for key in keys[:2]:
        store.put(key, {"text": key})
    for found in (store, ContentStore(tmp_path / "store")):
        assert [text_of(found, key) for key in keys] == [keys[0], keys[1], None]


def test_many_replies_of_one_run_are_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.asking.store._FOLD", 8)
    store = filled(tmp_path / "store", 100)
    assert [text_of(store, hashed(number)) for number in range(100)] == [f"reply {number}" for number in range(100)]
    assert [row["text"] for row in store.rows()] == [f"reply {number}" for number in range(100)]


def test_long_replies_come_back_whole(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "store")
    store.put(hashed(1), {"text": "ä\ud800" * 100_000})
    store.put(hashed(2), {"text": "short"})
    assert text_of(store, hashed(1)) == "ä\ud800" * 100_000


def test_a_store_that_cannot_be_written_says_so_and_keeps_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, real = filled(tmp_path / "store"), os.write

    def full(descriptor: int, data: bytes) -> int:
        real(descriptor, bytes(data[:7]))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RunInterrupted, match="No space left on device"):
            store.put(hashed(9), {"text": "x"})
    store.close()
    assert damaged_lines(ContentStore(tmp_path / "store")) == []
    assert len(ContentStore(tmp_path / "store")) == 3


def test_somebody_elses_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("hello\n")
    with pytest.raises(FileUnreadable, match="is no store of replies"):
        ContentStore(tmp_path / "notes.jsonl")


def test_stores_are_merged_and_the_first_source_counts(tmp_path: Path) -> None:
    filled(tmp_path / "a", 3).close()
    with ContentStore(tmp_path / "b.jsonl") as store:
        store.put(hashed(2), {"kind": "verdict", "judge": "j", "text": "other"})
        store.put(hashed(3), {"kind": "verdict", "judge": "j", "text": "new"})
    with open(tmp_path / "b.jsonl", "ab") as handle:
        handle.write(b"{cut")
    added, problems = merged([tmp_path / "a", tmp_path / "b.jsonl"], tmp_path / "both")
    assert (added, len(problems)) == (4, 1)
    both = ContentStore(tmp_path / "both")
    assert [text_of(both, hashed(number)) for number in range(4)] == ["reply 0", "reply 1", "reply 2", "new"]
    assert counted(both).rows() == [("answer", "", "", 3), ("verdict", "j", "", 1)]
    assert merged([tmp_path / "a"], tmp_path / "both") == (0, [])


def test_a_file_of_lines_has_one_locked_writer(tmp_path: Path) -> None:
    first = LineFile(tmp_path / "lines", lock=True)
    with pytest.raises(BlockingIOError):
        LineFile(tmp_path / "lines", lock=True)
    first.close()
    LineFile(tmp_path / "lines", lock=True).close()


def test_where_a_line_begins_is_told(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"cut")
    shared = LineFile(tmp_path / "lines", alone=False)
    assert [shared.add(b"one\n"), shared.add(b"two\n")] == [4, 8]
    shared.close()
    assert (tmp_path / "lines").read_bytes() == b"cut\none\ntwo\n"


def test_rows_are_plain_json_lines(tmp_path: Path) -> None:
    store = filled(tmp_path / "store", 1)
    assert json.loads(store.segments()[0].read_text()) == {"key": hashed(0), "kind": "answer", "text": "reply 0"}
