"""The one file that participants copy: on its own, on old Pythons, on both transports, whatever `answer` does."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostile_programs import SERVE
from surgvalid.asking.exchange import Address, Reply, TcpAddress, exchange, request_bytes
from waiting import until

APP = """
import sys; sys.path.insert(0, sys.argv[1])
from serve import serve
def answer(question):
    {body}
serve(answer, name="mine")
"""
ASK = {"qID": "a", "question": "?"}


class UnixAddress:
    def __init__(self, path: Path) -> None:
        self.path = path

    def connect(self, timeout_s: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(timeout_s)
            connection.connect(str(self.path))
        except OSError:
            connection.close()
            raise
        return connection


def pythons() -> list[str]:
    """Python 3.9 to 3.13 as far as they can be found here, by name or below pyenv."""
    found = {}
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    for minor in range(9, 14):
        if plain := shutil.which(f"python3.{minor}"):
            found[minor] = plain
        for root in roots:
            for path in sorted(root.glob(f"3.{minor}.*/bin/python3")):
                found[minor] = str(path)
    return [found[minor] for minor in sorted(found)]


def oldest() -> str:
    return next((path for path in pythons() if works(path, "3, 9")), "")


def works(path: str, version: str) -> bool:
    check = f"import sys; sys.exit(sys.version_info[:2] != ({version}))"
    return subprocess.run([path, "-c", check], capture_output=True).returncode == 0


@contextmanager
def served(
    tmp_path: Path, body: str = "return 'yes'", python: str = sys.executable, tcp: bool = False
) -> Iterator[Address]:
    shutil.copy(SERVE, tmp_path / "serve.py")
    (tmp_path / "app.py").write_text(APP.format(body=body))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = f"127.0.0.1:{port}" if tcp else str(tmp_path / "s")
    address: Address = TcpAddress(port) if tcp else UnixAddress(tmp_path / "s")
    command = [python, "-E", str(tmp_path / "app.py"), str(tmp_path)]
    with subprocess.Popen(command, env={"SURG_SOCKET": where}, stderr=subprocess.PIPE) as program:
        try:
            until(lambda: program.poll() is not None or is_up(address), 60, "it did not come up")
            assert program.poll() is None, program.stderr and program.stderr.read()
            yield address
        finally:
            program.send_signal(signal.SIGTERM)
            assert program.wait(60) == 0


def is_up(address: Address) -> bool:
    return talk(address, "GET", "/health").status == 200


def talk(address: Address, method: str, path: str, message: object = ASK) -> Reply:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return exchange(address, request_bytes(method, path, body if method == "POST" else b""), budget_s=30)


def said(reply: Reply) -> dict[str, object]:
    return json.loads(reply.body)  # type: ignore[no-any-return]


def test_it_needs_nothing_but_the_standard_library() -> None:
    modules = set()
    for node in ast.walk(ast.parse(SERVE.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module).split(".")[0])
    assert modules <= sys.stdlib_module_names


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_it_reports_ready_and_answers(tmp_path: Path, tcp: bool) -> None:
    with served(tmp_path, "return question['question'] + '!'", tcp=tcp) as address:
        assert said(talk(address, "GET", "/health")) == {"protocol": "1", "name": "mine"}
        assert said(talk(address, "POST", "/answer")) == {"qID": "a", "content": "?!"}


def test_it_is_written_in_the_grammar_of_python_3_9() -> None:
    ast.parse(SERVE.read_text("utf-8"), feature_version=(3, 9))


def test_it_runs_on_python_3_9(tmp_path: Path) -> None:
    python = oldest()
    if not python:
        pytest.skip("no Python 3.9 is installed here")
    with served(tmp_path, "return {'content': 'yes', 'extra': {'k': 1}}", python) as address:
        assert said(talk(address, "POST", "/answer")) == {"qID": "a", "content": "yes", "extra": {"k": 1}}


@pytest.mark.parametrize(
    "body", ["raise RuntimeError('bad day')", "return {1, 2}", "return {'content': float('nan')}", "return '\\ud800'"]
)
def test_whatever_answer_does_costs_one_question_only(tmp_path: Path, body: str) -> None:
    guarded = f"if question['question'] == 'fine': return 'yes'\n    {body}"
    with served(tmp_path, guarded) as address:
        bad = talk(address, "POST", "/answer")
        assert bad.status == 500 or "\\ud800" in bad.body.decode()
        assert said(talk(address, "POST", "/answer", ASK | {"question": "fine"}))["content"] == "yes"


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b""])
def test_what_is_no_question_is_refused(tmp_path: Path, body: bytes) -> None:
    with served(tmp_path) as address:
        assert talk(address, "POST", "/answer", body).status == 400
        assert talk(address, "POST", "/elsewhere").status == 400
        assert talk(address, "GET", "/elsewhere").status == 404


def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s"))
    with served(tmp_path) as address:
        assert talk(address, "GET", "/health").status == 200


def test_without_a_place_to_listen_it_says_what_to_do(tmp_path: Path) -> None:
    shutil.copy(SERVE, tmp_path / "serve.py")
    (tmp_path / "app.py").write_text(APP.format(body="return ''"))
    done = subprocess.run([sys.executable, str(tmp_path / "app.py"), str(tmp_path)], env={}, capture_output=True)
    assert done.returncode == 1
    assert b"surgvalid submission rehearse" in done.stderr
