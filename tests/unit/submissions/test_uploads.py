"""Uploads in pieces: what arrives is what was announced, from whoever announced it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import UploadRefused
from surgvalid.submissions.uploads import UploadLimits, Uploads

DATA = bytes(range(256)) * 40
DIGEST = hashlib.sha256(DATA).hexdigest()
SMALL = UploadLimits(most_bytes=20_000, most_piece_bytes=4096, most_open=2)


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", SMALL)


def begun(uploads: Uploads, owner: str = "team a") -> str:
    return uploads.begin(owner, size_bytes=len(DATA), digest=DIGEST)


def send(uploads: Uploads, name: str, owner: str = "team a", upto: int = len(DATA)) -> None:
    for at in range(uploads.received_bytes(name, owner), upto, 4096):
        piece = DATA[at : min(at + 4096, upto)]
        uploads.add(name, owner, offset=at, piece=piece, length=len(piece))


def test_what_was_announced_comes_out_and_nothing_is_left(uploads: Uploads, tmp_path: Path) -> None:
    name = begun(uploads)
    send(uploads, name)
    assert uploads.finish(name, "team a", tmp_path / "image.tar").read_bytes() == DATA
    assert list((tmp_path / "uploads").iterdir()) == []


def test_an_interrupted_upload_goes_on_also_after_the_host_restarted(uploads: Uploads, tmp_path: Path) -> None:
    name = begun(uploads)
    send(uploads, name, upto=5000)
    again = Uploads(tmp_path / "uploads", SMALL)
    assert again.received_bytes(name, "team a") == 5000
    send(again, name)
    assert again.finish(name, "team a", tmp_path / "image.tar").read_bytes() == DATA


@pytest.mark.parametrize("size", [0, -1, SMALL.most_bytes + 1, 10**30])
def test_16_a_size_beyond_the_limit_is_refused_before_anything_is_stored(
    uploads: Uploads, size: int, tmp_path: Path
) -> None:
    with pytest.raises(UploadRefused, match="announces"):
        uploads.begin("team a", size_bytes=size, digest=DIGEST)
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("digest", ["", "x" * 64, DIGEST.upper(), DIGEST[:-1], f"{DIGEST}\n"])
def test_16_a_digest_that_is_none_is_refused(uploads: Uploads, digest: str) -> None:
    with pytest.raises(UploadRefused, match="SHA-256"):
        uploads.begin("team a", size_bytes=10, digest=digest)


def test_16_more_bytes_than_announced_are_refused(uploads: Uploads) -> None:
    name = uploads.begin("team a", size_bytes=10, digest=DIGEST)
    with pytest.raises(UploadRefused, match="more than the 10 bytes"):
        uploads.add(name, "team a", offset=0, piece=b"x" * 11)
    assert uploads.received_bytes(name, "team a") == 0


@pytest.mark.parametrize("piece", [b"", b"x" * 4097])
def test_16_a_piece_that_is_empty_or_too_large_is_refused(uploads: Uploads, piece: bytes) -> None:
    with pytest.raises(UploadRefused, match="a piece has"):
        uploads.add(begun(uploads), "team a", offset=0, piece=piece)


@pytest.mark.parametrize("length", [0, 99, 101])
def test_16_a_piece_of_another_length_than_declared_is_refused(uploads: Uploads, length: int) -> None:
    name = begun(uploads)
    with pytest.raises(UploadRefused, match="declares"):
        uploads.add(name, "team a", offset=0, piece=DATA[:100], length=length)
    assert uploads.received_bytes(name, "team a") == 0


@pytest.mark.parametrize("offset", [0, 50, 101, 200, -1])
def test_16_a_piece_replayed_or_out_of_order_is_refused_with_the_place_to_go_on(uploads: Uploads, offset: int) -> None:
    name = begun(uploads)
    uploads.add(name, "team a", offset=0, piece=DATA[:100])
    with pytest.raises(UploadRefused, match="begins at byte 100"):
        uploads.add(name, "team a", offset=offset, piece=DATA[:100])
    assert uploads.received_bytes(name, "team a") == 100


def test_16_of_the_same_piece_sent_many_times_at_once_one_is_taken(uploads: Uploads) -> None:
    name = begun(uploads)

    def attempt(_: int) -> bool:
        try:
            return uploads.add(name, "team a", offset=0, piece=DATA[:4096]) > 0
        except UploadRefused:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 1
    assert uploads.received_bytes(name, "team a") == 4096


def test_16_another_team_cannot_tell_an_upload_from_none(uploads: Uploads, tmp_path: Path) -> None:
    name = begun(uploads)
    send(uploads, name)
    said = set()
    for wanted in (name, "0" * 32, "../../etc/passwd", "", f"{name}\n", "a" * 10_000):
        for act in (
            lambda w: uploads.received_bytes(w, "team b"),
            lambda w: uploads.add(w, "team b", offset=0, piece=b"x"),
            lambda w: uploads.finish(w, "team b", tmp_path / "stolen"),
            lambda w: uploads.abandon(w, "team b"),
        ):
            with pytest.raises(UploadRefused) as refused:
                act(wanted)
            said.add(str(refused.value))
    assert len(said) == 1
    assert not (tmp_path / "stolen").exists()
    assert uploads.finish(name, "team a", tmp_path / "mine").read_bytes() == DATA


def test_16_bytes_that_were_not_announced_are_refused_and_forgotten(uploads: Uploads, tmp_path: Path) -> None:
    name = uploads.begin("team a", size_bytes=4, digest=DIGEST)
    uploads.add(name, "team a", offset=0, piece=b"evil")
    with pytest.raises(UploadRefused, match="not those announced"):
        uploads.finish(name, "team a", tmp_path / "image.tar")
    assert not (tmp_path / "image.tar").exists()
    with pytest.raises(UploadRefused, match="no such upload"):
        uploads.received_bytes(name, "team a")


def test_16_an_upload_with_bytes_missing_is_not_finished(uploads: Uploads, tmp_path: Path) -> None:
    name = begun(uploads)
    send(uploads, name, upto=4096)
    with pytest.raises(UploadRefused, match="go on at byte 4096"):
        uploads.finish(name, "team a", tmp_path / "image.tar")
    send(uploads, name)
    assert uploads.finish(name, "team a", tmp_path / "image.tar").exists()


def test_16_unfinished_uploads_of_a_team_are_counted(uploads: Uploads) -> None:
    first, _ = begun(uploads), begun(uploads)
    with pytest.raises(UploadRefused, match="2 uploads are unfinished"):
        begun(uploads)
    assert begun(uploads, "team b")
    uploads.abandon(first, "team a")
    assert begun(uploads)


def test_16_a_finished_file_is_never_put_over_another(uploads: Uploads, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"of another team")
    name = begun(uploads)
    send(uploads, name)
    with pytest.raises(FileExistsError):
        uploads.finish(name, "team a", tmp_path / "image.tar")
    assert (tmp_path / "image.tar").read_bytes() == b"of another team"


def test_a_full_disk_leaves_no_half_piece(uploads: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    name = begun(uploads)
    real = os.pwrite

    def half(file: int, data: bytes, offset: int) -> int:
        if offset:
            raise OSError(28, "No space left on device")
        return real(file, data[:7], offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(UploadRefused, match="No space left"):
            uploads.add(name, "team a", offset=0, piece=DATA[:100])
    assert uploads.received_bytes(name, "team a") == 0


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=20))
def test_whatever_order_pieces_come_in_only_a_prefix_of_the_file_is_kept(tries: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        uploads = Uploads(Path(folder), SMALL)
        name = uploads.begin("a", size_bytes=60, digest=hashlib.sha256(DATA[:60]).hexdigest())
        for offset, length in tries:
            try:
                uploads.add(name, "a", offset=offset, piece=DATA[offset : offset + length])
            except UploadRefused:
                continue
        have = uploads.received_bytes(name, "a")
        assert (Path(folder) / f"{name}.part").read_bytes() == DATA[:have]


def test_a_record_that_was_cut_off_blocks_nobody(uploads: Uploads, tmp_path: Path) -> None:
    """A host that was killed while it wrote, or a disk that was full, must not stop every team."""
    (tmp_path / "uploads" / f"{'0' * 32}.json").write_text('{"owner": "team')
    (tmp_path / "uploads" / f"{'1' * 32}.json").write_text("[]")
    name = begun(uploads)
    send(uploads, name)
    assert uploads.finish(name, "team a", tmp_path / "image.tar").read_bytes() == DATA
    with pytest.raises(UploadRefused, match="no such upload"):
        uploads.add("0" * 32, "team", offset=0, piece=b"x")


def test_a_record_is_there_whole_or_not_at_all(
    uploads: Uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError):
            begun(uploads)
    assert not list((tmp_path / "uploads").glob("*.json"))
    begun(uploads), begun(uploads)


def test_16_of_many_that_begin_at_once_as_many_come_through_as_are_allowed(tmp_path: Path) -> None:
    def begin(_: int) -> bool:
        try:
            begun(Uploads(tmp_path / "uploads", SMALL))
        except UploadRefused:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(begin, range(40))) == SMALL.most_open


def test_an_upload_that_was_moved_and_not_yet_forgotten_can_be_finished_again(uploads: Uploads, tmp_path: Path) -> None:
    name = begun(uploads)
    send(uploads, name)
    (part,) = (tmp_path / "uploads").glob("*.part")
    os.link(part, tmp_path / "image.tar")
    assert uploads.finish(name, "team a", tmp_path / "image.tar").read_bytes() == DATA
    other = begun(uploads)
    send(uploads, other)
    with pytest.raises(FileExistsError):
        uploads.finish(other, "team a", tmp_path / "image.tar")
