"""A real Label Studio on this machine, driven through its own API: what we propose comes back as people left it.

`make test-tools` installs it into an environment of its own; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from procedures import random_procedure
from surgvalid.datasets import read_annotations
from surgvalid.datasets.tools.label_studio_review import read_review, write_review
from surgvalid.schema.procedures.tracks import Procedure

PROGRAM = os.environ.get("LABEL_STUDIO", "")
RUNNING = os.environ.get("LABEL_STUDIO_URL", "")
"""A server that runs already, with the token below; making the data base of a new one takes minutes."""
QUIET = {
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false", "SENTRY_DSN": "",
    "LATEST_VERSION_CHECK": "false",
}  # fmt: skip
pytestmark = pytest.mark.skipif(
    not (PROGRAM or RUNNING), reason="no Label Studio: LABEL_STUDIO names no program (make test-tools)"
)
TOKEN = "0123456789abcdef0123456789abcdef01234567"
START_S = 1800
"""A new data base takes many minutes on a busy machine. A server that ends by itself is noticed at once."""
Call = Callable[..., Any]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """A function that asks the server, which runs as long as this file is tested."""
    if RUNNING:
        ask = _asking(RUNNING)
        _wait(lambda: True, lambda: ask("/api/projects/"), None)
        yield ask
        return
    home, port = tmp_path_factory.mktemp("label_studio"), free_port()
    account = ["--username", "a@example.org", "--password", "a-long-password-1", "--user-token", TOKEN]
    place = ["--data-dir", str(home), "--internal-host", "127.0.0.1", "--port", str(port)]
    ask = _asking(f"http://127.0.0.1:{port}")
    with open(home / "log.txt", "w") as log:
        command = [PROGRAM, "start", "--no-browser", *place, *account]
        process = subprocess.Popen(command, env={**os.environ, **QUIET}, stdout=log, stderr=log)
        try:
            _wait(lambda: process.poll() is None, lambda: ask("/api/projects/"), home / "log.txt")
            yield ask
        finally:
            process.terminate()
            process.wait(timeout=30)


def _asking(base: str) -> Call:
    def ask(path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        head = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(base + path, data=data, headers=head)
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.loads(reply.read())

    return ask


def _wait(alive: Callable[[], bool], ask: Callable[[], Any], log: Path | None) -> None:
    started = time.monotonic()
    while time.monotonic() - started < START_S and alive():
        try:
            ask()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(1)
        else:
            return
    pytest.fail("Label Studio did not start: " + ("" if log is None else log.read_text()[-2000:]))


FLAG = {
    "kind": "missing", "second": 2, "until_s": 4, "x": 5.0, "y": 6.0, "width": 7.0, "height": 8.0, "evidence": "seen",
}  # fmt: skip


def imported(call: Call, tmp_path: Path, procedure: Procedure) -> tuple[int, dict[str, Any]]:
    """The project and its only task with the proposals in it."""
    tasks, labels = write_review([procedure], tmp_path, flags=[{**FLAG, "video": procedure.video}])
    project = call("/api/projects/", {"title": "review", "label_config": labels.read_text()})["id"]
    call(f"/api/projects/{project}/import?return_task_ids=true", json.loads(tasks.read_text()))
    [listed] = call(f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    return project, call(f"/api/tasks/{listed['id']}/")


def exported(call: Call, project: int, kind: str, place: Path) -> Path:
    place.write_text(json.dumps(call(f"/api/projects/{project}/export?exportType={kind}")))
    return place


def test_proposals_go_in_are_annotated_and_come_back_with_nothing_lost(call: Call, tmp_path: Path) -> None:
    procedure = random_procedure(3)
    project, task = imported(call, tmp_path, procedure)
    results = task["predictions"][0]["result"]
    moved = next(row for row in results if row["from_name"] == "box")
    moved["value"]["sequence"][0]["x"] += 1.0
    next(row for row in results if row["from_name"] == "flag")["value"]["labels"] = ["right"]
    call(f"/api/tasks/{task['id']}/annotations/", {"result": results, "was_cancelled": False})

    review = read_review(exported(call, project, "JSON", tmp_path / "export.json"))
    [back] = review.procedures
    assert review.flags["review"].to_list() == ["right"]
    assert review.flags.select("kind", "second", "until_s", "evidence").row(0) == (
        "missing",
        2,
        4,
        "seen",
    )
    for before, after in zip(procedure.tracks, back.tracks, strict=True):
        seen = before.in_view
        assert (before.instance, before.class_name, dict(before.attributes)) == (
            after.instance, after.class_name, dict(after.attributes),
        )  # fmt: skip
        assert after.seconds.tolist() == before.seconds[seen].tolist()
        shift = abs(after.boxes - before.boxes[seen])
        expected = procedure.width_px / 100 if before.instance == moved["id"] else 0.0
        assert abs(float(shift.max(initial=0.0)) - expected) < 1e-3
    assert back.events == procedure.events
    assert back.phases == procedure.phases
    same = ("video", "duration_s", "width_px", "height_px", "procedure_type", "center", "declared", "proposed")
    assert {name: getattr(back, name) for name in same} == {name: getattr(procedure, name) for name in same}


def test_the_smaller_export_holds_the_boxes(call: Call, tmp_path: Path) -> None:
    procedure = replace(random_procedure(4), events=(), declared=None)
    project, task = imported(call, tmp_path, procedure)
    results = [row for row in task["predictions"][0]["result"] if row["from_name"] == "box"]
    call(f"/api/tasks/{task['id']}/annotations/", {"result": results, "was_cancelled": False})
    path = exported(call, project, "JSON_MIN", tmp_path / "small.json")
    [back] = read_annotations(path).procedures
    for before, after in ((procedure.tracks, back.tracks), (procedure.instruments, back.instruments)):
        seen = [int(track.in_view.sum()) for track in before]
        assert sorted(map(len, after)) == sorted(count for count in seen if count)
