"""Frames of cases: beside the page where asked for, or from a server that answers only who has its address."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.report.cases.frames import frame_bytes, frames_in
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.report import Report
from surgvalid.report.section import Browser, Section
from surgvalid.report.serving import ReportServer
from surgvalid.report.templates import TEMPLATES
from surgvalid.schema.procedures.procedure_files import write_procedure
from surgvalid.schema.procedures.tracks import Procedure, track_from_points
from surgvalid.video.images import write_png

CASES = ({"c": "q1", "v": "v1", "k": "", "t": "", "w": [], "p": {}, "a": [], "s": [3, 3]},
         {"c": "q2", "v": "v1", "k": "", "t": "", "w": [], "p": {}, "a": [], "s": [3, 3]})  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A report of two cases; one has a frame with an annotated sponge in it."""
    picture, procedure = tmp_path / "frames" / "q1.png", tmp_path / "v1.json"
    picture.parent.mkdir()
    write_png(np.full((48, 64, 3), 90, np.uint8), picture)
    sponge = track_from_points("s1", "Sponge", [(3, (16, 12, 32, 24))])
    write_procedure(Procedure("v1", "Hernia", "A", 12, 64, 48, (sponge,)), procedure)
    section = Section("cases", "Cases", (Browser("cases", "Cases", "", CASES),), layer="explore", view="Wrong answers")
    inputs = ReportInputs(tmp_path, frames=(picture,), procedures=(procedure,))
    return Report("r", TEMPLATES["study"], (section,), inputs)


def payload(page: str) -> list[dict]:
    packed = page.split('id="payload">')[1].split("<")[0]
    return json.loads(zlib.decompress(b64decode(packed)))["cases"]


def test_frames_stay_out_of_the_page_unless_asked_for(report: Report, tmp_path: Path) -> None:
    page = report.html()
    assert all("f" not in case for case in payload(page))
    assert "img-src data: blob:;" in page
    report.to_html(tmp_path / "r.html")
    assert not (tmp_path / "r-frames").exists()


def test_frames_lie_in_a_folder_of_their_own_with_boxes_and_a_warning(report: Report, tmp_path: Path) -> None:
    page, folder, count = report.to_html_with_frames(tmp_path / "r.html")
    first, second = payload(page.read_text())
    assert count == 1
    assert first["f"] == [{"u": "r-frames/00000.png", "at": 3, "b": [[0, "Sponge", 0.25, 0.25, 0.5, 0.5]]}]
    assert "f" not in second
    assert (folder / "00000.png").read_bytes() == (tmp_path / "frames" / "q1.png").read_bytes()
    assert "patient images" in (folder / "README.txt").read_text()
    assert "img-src data: blob: 'self' file:;" in page.read_text()


def test_what_is_no_sound_picture_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n and then some")
    assert frame_bytes(tmp_path / "a.png", None) is None
    assert frame_bytes(tmp_path / "none.png", None) is None


def test_links_are_not_followed_to_videos(tmp_path: Path) -> None:
    (tmp_path / "real.mp4").write_bytes(b"")
    (tmp_path / "link.mp4").symlink_to(tmp_path / "real.mp4")
    assert set(frames_in(ReportInputs(tmp_path)).videos) == {"real"}


@pytest.fixture
def server(report: Report) -> Iterator[ReportServer]:
    served = ReportServer(report)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


def got(address: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_the_server_shows_the_page_and_its_frames_to_who_has_the_address(server: ReportServer, tmp_path: Path) -> None:
    code, page = got(server.address)
    assert code == 200
    [frame] = payload(page.decode())[0]["f"]
    assert got(server.address.split(f"/{server.token}")[0] + frame["u"]) == (
        200, (tmp_path / "frames" / "q1.png").read_bytes(),
    )  # fmt: skip


def test_the_server_answers_nobody_else(server: ReportServer) -> None:
    home = server.address.split(f"/{server.token}")[0]
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    for place in ("/", "/wrong/", "/wrong/frames/00000.png", f"/{server.token}/frames/9.png",
                  f"/{server.token}/frames/../../etc/passwd", f"/{server.token}/frames/-1.png"):  # fmt: skip
        assert got(home + place)[0] == 404, place
    assert got(server.address, Host="evil.example")[0] == 403


def test_extras_are_checked_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for package, arguments in (
        (
            "av",
            [
                "data",
                "annotate",
                "run",
                "instances",
                str(tmp_path / "none"),
                "--video",
                "v=f.mp4",
                "--out",
                str(tmp_path / "demo"),
            ],
        ),
        ("av", ["data", "simulate", str(tmp_path / "demo")]),
    ):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            result = CliRunner().invoke(build_app(), arguments)
            assert type(result.exception).__name__ == "ExtraNeeded", package
    assert not (tmp_path / "demo").exists()
