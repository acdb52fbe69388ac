"""What a submission can leave in a folder, and that the host does not fall for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from surgvalid.errors import Misuse, OutputRefused
from surgvalid.sandbox._folders import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "out").mkdir()
    (tmp_path / "secret").write_text("of the host")
    opened = Folder(tmp_path / "out")
    yield opened
    opened.close()


def test_a_regular_file_is_read_also_when_nested(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "a").mkdir()
    (tmp_path / "out" / "a" / "b.json").write_text("{}")
    assert folder.read("a/b.json", max_bytes=2) == b"{}"
    assert folder.names() == ("a",)


def test_a_link_to_a_file_of_the_host_is_refused(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "answers.json").symlink_to(tmp_path / "secret")
    with pytest.raises(OutputRefused, match=r"answers\.json"):
        folder.read("answers.json", max_bytes=100)


def test_a_linked_folder_on_the_way_is_refused(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "a").symlink_to(tmp_path)
    with pytest.raises(OutputRefused, match="a/secret"):
        folder.read("a/secret", max_bytes=100)


def test_a_pipe_does_not_block_the_host(folder: Folder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out" / "answers.json")
    with pytest.raises(OutputRefused, match="regular file"):
        folder.read("answers.json", max_bytes=100)


def test_a_folder_in_place_of_a_file_is_refused(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "answers.json").mkdir()
    with pytest.raises(OutputRefused):
        folder.read("answers.json", max_bytes=100)


def test_a_huge_sparse_file_is_refused_before_it_is_read(folder: Folder, tmp_path: Path) -> None:
    with open(tmp_path / "out" / "big", "wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(OutputRefused, match="allowed are 100"):
        folder.read("big", max_bytes=100)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", "a/../../secret", "a\0b"])
def test_a_name_cannot_leave_the_folder(folder: Folder, name: str) -> None:
    with pytest.raises(Misuse):
        folder.read(name, max_bytes=100)


def test_writing_replaces_a_planted_link_and_never_writes_through_it(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "request.json").symlink_to(tmp_path / "secret")
    folder.write("request.json", b"new")
    assert (tmp_path / "secret").read_text() == "of the host"
    assert folder.read("request.json", max_bytes=10) == b"new"
    (tmp_path / "out" / "taken").mkdir()
    with pytest.raises(OutputRefused, match="cannot be removed"):
        folder.write("taken", b"")
    with pytest.raises(Misuse):
        folder.remove("a/b")
    folder.remove("request.json")
    folder.remove("request.json")
    assert folder.names() == ("taken",)


def listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def test_a_link_to_another_socket_of_the_host_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    with listening(tmp_path / "engine.sock"):
        (tmp_path / "out" / "model.sock").symlink_to(tmp_path / "engine.sock")
        with pytest.raises(OutputRefused, match="not a socket"):
            folder.connect("model.sock", timeout_s=1)


def test_a_file_in_place_of_the_socket_is_refused_and_none_is_not_found(folder: Folder, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        folder.connect("model.sock", timeout_s=1)
    (tmp_path / "out" / "model.sock").write_text("")
    with pytest.raises(OutputRefused, match="not a socket"):
        folder.connect("model.sock", timeout_s=1)


def test_a_real_socket_is_connected_to_and_a_dead_one_is_a_connection_error(folder: Folder, tmp_path: Path) -> None:
    server = listening(tmp_path / "out" / "model.sock")
    with server, folder.connect("model.sock", timeout_s=1):
        pass
    with pytest.raises(ConnectionError):
        folder.connect("model.sock", timeout_s=1)


def test_the_folder_stays_readable_when_its_path_is_gone(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "out" / "kept").write_text("yes")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert folder.read("kept", max_bytes=3) == b"yes"
