"""Containers made for grand-challenge's long-lived mode."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hostile_programs import script
from submission_runs import outcomes, records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.exchange import Contact, exchange, request_bytes
from surgvalid.asking.journal import Record
from surgvalid.asking.session import Participant
from surgvalid.sandbox import open_engine
from surgvalid.submissions.gc_invoke import NamespaceAddress, open_invoke_session

SERVER = """
import json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer
source, target = os.environ["SURG_INPUT"], os.environ["SURG_OUTPUT"]
count = 0
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def do_POST(self):
        global count
        count += 1
        status = 201
        request = json.load(open(source + "/request.json"))
        video = json.load(open(source + "/inputs.json"))[1]["socket"]["relative_path"]
        response = {"qID": request["qID"], "content": open(source + "/" + video).read()}
        BODY
        if response is not None:
            json.dump(response, open(target + "/response.json", "w"))
        self.send_response(status); self.end_headers()
    def log_message(self, *a): pass
HTTPServer(("127.0.0.1", int(os.environ["SURG_PORT"])), Handler).serve_forever()
"""


LINKED = """if count < 3 and os.path.lexists(target + "/response.json"):
            os.unlink(target + "/response.json")
        if count == 1:
            os.symlink("/etc/passwd", target + "/response.json")
            response = None"""


PORTS = itertools.cycle(range(20_000 + os.getpid() % 1000 * 10, 20_000 + os.getpid() % 1000 * 10 + 10))


def free_port() -> int:
    """A port below those that the kernel hands out, so that nobody gets it before the program binds it."""
    while True:
        port = next(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


def run(folder: Path, body: str = "pass", **changes: Any) -> dict[str, Record]:
    command = script(folder, SERVER.replace("BODY", body))
    out = run_tasks(
        tasks(folder / "media"), engine=open_engine("process"), entrant=Participant(command=command),
        rules=rules(**changes), out=folder / "out", open_with=partial(open_invoke_session, port=free_port()),
        dialect="gc-invoke",
    )  # fmt: skip
    return records(out)


def test_a_container_of_that_mode_is_asked_one_by_one(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert outcomes(found) == {"q0": "ok", "q1": "ok", "q2": "ok"}
    assert {r.content for r in found.values()} == {"video 0"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("status = 500 if count == 1 else 201", "status 500"),
        ("status = 200 if count == 1 else 201", "status 200"),
        ("response = None if count == 1 else response", "No such file"),
        ("response['qID'] = 'x' if count == 1 else response['qID']", "another question"),
        (LINKED, "response.json"),
    ],
)
def test_an_answer_that_is_none_costs_its_question(tmp_path: Path, body: str, reason: str) -> None:
    found = run(tmp_path, body)
    assert sorted(outcomes(found).values()) == ["invalid", "ok", "ok"]
    assert reason in next(r.detail for r in found.values() if r.outcome == "invalid")


def test_an_old_answer_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    found = run(tmp_path, "response = response if count == 1 else None")
    assert sorted(outcomes(found).values()) == ["invalid", "invalid", "ok"]


def test_time_runs_until_it_says_done(tmp_path: Path) -> None:
    found = run(tmp_path, "time.sleep(1.5 if count == 1 else 0)", budget_s=1.0)
    assert "timeout" in outcomes(found).values()


def test_the_port_of_another_network_namespace_is_reached(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("entering a network namespace needs root and unshare")
    program = (
        "import fcntl, socket, struct\n"
        "control = socket.socket(); fcntl.ioctl(control, 0x8914, struct.pack('16sh', b'lo', 0x49))\n"
        "server = socket.create_server(('127.0.0.1', 4743)); print('up', flush=True)\n"
        "c, _ = server.accept(); c.recv(9999); c.sendall(b'HTTP/1.1 201 Created\\r\\n\\r\\n'); c.close()\n"
    )
    command = ["unshare", "--net", sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        try:
            assert child.stdout is not None
            if child.stdout.readline() != b"up\n":
                pytest.skip("no network namespace can be made here")
            reply = exchange(
                NamespaceAddress(child.pid, 4743), request_bytes("POST", "/invoke"), budget_s=30,
                may_lack_length=True,
            )  # fmt: skip
            assert (reply.contact, reply.status) == (Contact.REPLY, 201)
            assert exchange(NamespaceAddress(child.pid, 1), b"", budget_s=30).contact is Contact.UNREACHABLE
        finally:
            child.kill()
