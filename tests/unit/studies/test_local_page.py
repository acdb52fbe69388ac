"""The page of `surgvalid study` without a file: who is answered, how roles are told and corrected, what is not kept.

What a browser makes of it is tested in `tests/e2e/test_local_page_in_the_browser.py`.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import Misuse
from surgvalid.studies.local_page import LocalPage, command

SHEET = "xl/worksheets/sheet1.xml"


def dice() -> bytes:
    """Twelve patients with five frames each, whose names come again in every patient; B is a bit better."""
    draw = np.random.default_rng(3).normal
    rows = [
        (f"P{patient:02}", f"frame_{frame}", model, round(0.7 + (0.03 if model == "B" else 0) + 0.02 * draw(), 4))
        for patient in range(12) for frame in range(5) for model in "AB"
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["patient", "frame", "model", "dice"], orient="row").write_csv().encode()


def rows(head: str, *lines: str) -> bytes:
    return "\n".join([head, *lines, ""]).encode()


TABLES = {
    "dice.csv": dice(),
    "a column per model.csv": rows(
        "patient,dice_unet,dice_swin", *(f"p{n},0.{80 + n},0.{75 + n % 3}" for n in range(8))
    ),
    "names.csv": rows(
        "image,model,dice",
        *(f"p{p}_f{f}.png,{m},{0.5 + 0.01 * p + 0.02 * (m == 'B') + 0.003 * f:.3f}" for p in range(8) for f in range(3)
          for m in "AB"),
    ),
    "seeds.csv": rows(
        "pat,algo,seed,dice,age",
        *(f"p{p},{m},{s},{0.5 + 0.01 * p + 0.1 * (m == 'B') + 0.01 * s:.2f},{40 + p}" for p in range(6) for m in "AB"
          for s in range(3)),
    ),
    "ours.csv": rows(
        "model,case,video,value",
        *(f"{m},c{c},v{c // 2},{0.5 + 0.01 * c + 0.1 * (m == 'B')}" for c in range(12) for m in "AB"),
    ),
    "undecided.csv": rows("patient,dice,other,more", "a,.8,.6,.3", "b,.7,.5,.2", "c,.9,.7,.4", "d,.8,.7,.3"),
    "models_across.csv": rows("model,P1,P2,P3,P4,P5,P6,P7", "A,.1,.2,.3,.4,.5,.6,.7", "B,.2,.3,.4,.5,.6,.7,.8"),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def page(place: Path) -> Iterator[LocalPage]:
    served = LocalPage()
    threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


class Browser:
    """What a browser sends and keeps."""

    def __init__(self, page: LocalPage) -> None:
        self.page, self.cookie, self.headers = page, "", dict[str, str]()
        self.path = "/" + page.address_of().split("/", 3)[3]

    def asks(self, rest: str = "", body: bytes | None = None, **headers: str) -> tuple[int, str]:
        wire = http.client.HTTPConnection("127.0.0.1", self.page.server_address[1], timeout=30)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        wire.request("GET" if body is None else "POST", self.path + rest, body, {**sent, **headers})
        answer = wire.getresponse()
        text = answer.read().decode()
        self.headers = dict(answer.headers.items())
        if set_cookie := answer.headers.get("Set-Cookie"):
            self.cookie = set_cookie.partition(";")[0]
        wire.close()
        return answer.status, text

    def drops(self, name: str, table: bytes) -> dict[str, Any]:
        return json.loads(self.asks(f"table/{quote(name, safe='')}", table)[1])

    def chooses(self, asked: dict[str, Any]) -> dict[str, Any]:
        return json.loads(self.asks("read", json.dumps({"asked": asked}).encode())[1])

    def offered(self, asked: dict[str, Any], column: str) -> dict[str, dict[str, Any]]:
        made = json.loads(self.asks("offers", json.dumps({"asked": asked, "column": column}).encode())[1])
        return {offer["role"]: offer for offer in made}


@pytest.fixture
def browser(page: LocalPage) -> Browser:
    opened = Browser(page)
    assert opened.asks()[0] == 200
    return opened


def test_an_address_is_for_the_browser_that_opens_it_first(page: LocalPage) -> None:
    first, second = Browser(page), Browser(page)
    assert second.asks("local.js")[0] == 403
    assert first.asks()[0] == 200
    assert "HttpOnly; SameSite=Strict" in first.headers["Set-Cookie"]
    assert first.headers["Set-Cookie"].split("Path=")[1].startswith(first.path)
    assert first.asks("local.js")[0] == first.asks()[0] == 200
    assert "Set-Cookie" not in first.headers
    for rest in ("", "local.js", "study.html"):
        assert second.asks(rest) == (403, "This address was opened in another browser already; start anew for another.")
    second.cookie = "visitor=guessed"
    assert second.asks()[0] == 403
    assert second.asks("table/a.csv", TABLES["dice.csv"])[0] == 403
    assert page.data == b""


def test_a_cookie_of_something_else_on_this_machine_is_no_hindrance(browser: Browser) -> None:
    browser.cookie = f'odd={{"a": 1}}; {browser.cookie}'
    assert browser.asks()[0] == 200


@pytest.mark.parametrize(("headers", "code"), [
    ({"Host": "evil.example"}, 403),
    ({"Host": "127.0.0.1"}, 403),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Content-Length": str(65 << 20)}, 413),
    ({"Content-Length": "-1"}, 413),
])  # fmt: skip
def test_nobody_else_sends_a_table(browser: Browser, headers: dict[str, str], code: int) -> None:
    assert browser.asks("table/a.csv", TABLES["dice.csv"], **headers)[0] == code
    assert browser.page.data == b""


def test_nothing_is_found_without_the_token_and_the_page_loads_its_own_parts_alone(browser: Browser) -> None:
    text = browser.asks()[1]
    policy = browser.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert {"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert set(re.findall(r'(?:href|src)="([^"#]+)"', text)) == {"data:,", "local.css", "local.js", "study.html"}
    assert not re.search(r"<script>|<style|\son\w+=|\sstyle=", text)
    assert browser.asks("study.html")[0] == browser.asks("../../etc/passwd")[0] == 404
    browser.path = "/guessed/"
    assert browser.asks()[0] == 404


def test_the_page_says_the_size_that_the_server_takes(browser: Browser) -> None:
    assert f"const MOST_MIB = {browser.page.most_sent_bytes >> 20};" in browser.asks("local.js")[1]
    assert f"up to {browser.page.most_sent_bytes >> 20} MiB" in browser.asks()[1]


def test_each_column_has_its_role_and_what_nobody_says_waits_with_the_reason(browser: Browser) -> None:
    shown = browser.drops("dice.csv", TABLES["dice.csv"])
    cards = {card["column"]: card for card in shown["cards"]}
    assert {name: card["role"] for name, card in cards.items()} == {
        "patient": "unit", "frame": "case", "model": "model", "dice": "score",
    }  # fmt: skip
    assert {name: card["waits"] for name, card in cards.items() if card["waits"]} == {
        "frame": "5 names, each in all 12 patients: is it so?"
    }
    assert (shown["height"], len(shown["rows"]), shown["rows"][0][:3]) == (120, 8, ["P00", "frame_0", "A"])
    stated = browser.chooses({"columns": {"case": "frame"}})
    assert not any(card["waits"] for card in stated["cards"])


@pytest.mark.parametrize(("name", "roles", "waiting"), [
    ("a column per model.csv", {"patient": "unit", "dice_unet": "model scores", "dice_swin": "model scores"}, {}),
    ("names.csv", {"image": "case", "model": "model", "dice": "score"}, {"image": "8 patients read from the names"}),
    ("models_across.csv", {"model": "model", **{f"P{n}": None for n in range(1, 8)}}, {}),
])  # fmt: skip
def test_roles_of_other_layouts(name: str, roles: dict[str, str], waiting: dict[str, str], browser: Browser) -> None:
    cards = browser.drops(name, TABLES[name])["cards"]
    assert {card["column"]: card["role"] for card in cards} == roles
    found = {card["column"]: card["waits"] for card in cards if card["waits"]}
    assert found.keys() == waiting.keys()
    assert all(found[column].startswith(text) for column, text in waiting.items())


def test_a_role_is_offered_with_what_it_changes_and_another_unit_gives_another_verdict(browser: Browser) -> None:
    before = browser.drops("dice.csv", TABLES["dice.csv"])
    offered = browser.offered({}, "frame")
    assert offered["unit"]["change"] == "5 groups instead of 12 patients"
    assert offered["model"]["change"] == "the table cannot be read so"
    assert offered["case"]["change"] == offered["repeat"]["change"] == ""
    assert "score" not in offered
    after = browser.chooses(offered["unit"]["asked"])
    assert ("12 patients" in before["evidence"], "5 groups" in after["evidence"]) == (True, True)
    assert before["sentences"][0] != after["sentences"][0]
    assert browser.offered({"columns": {"video": "frame"}}, "frame")[""]["asked"] == {}


def test_a_table_with_two_readings_is_settled_by_a_click(browser: Browser) -> None:
    shown = browser.drops("undecided.csv", TABLES["undecided.csv"])
    assert shown["problem"].startswith("undecided.csv: two readings fit")
    assert shown["columns"] == ["patient", "dice", "other", "more"]
    assert "cards" not in shown
    score = browser.offered({}, "dice")["score"]
    assert score["change"] == "4 patients"
    assert "problem" not in browser.chooses(score["asked"])


def test_margin_metric_and_direction_are_set(browser: Browser) -> None:
    browser.drops("dice.csv", TABLES["dice.csv"])
    assert "0.001" in browser.chooses({"margin": 0.001})["sentences"][0]
    shown = browser.drops("ours.csv", TABLES["ours.csv"])
    assert "larger or smaller" in shown["problem"]
    assert len(shown["cards"]) == 4
    assert browser.chooses({"better": "larger"})["title"].startswith("B is better than A")
    assert browser.chooses({"better": "smaller"})["title"].startswith("A is better than B")


def walked(page: LocalPage, name: str, most: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Choices that clicks lead to, each with what the page then shows."""
    page.name, page.data = name, TABLES[name]
    settled = {"undecided.csv": {"scores": ["dice"]}}.get(name, {"better": "larger"})
    waiting, seen = [dict[str, Any](), settled], set[str]()
    while waiting and len(seen) < most:
        asked = waiting.pop(0)
        if repr(asked) in seen:
            continue
        seen.add(repr(asked))
        shown = page.read(asked)
        yield asked, shown
        waiting += [offer["asked"] for column in shown["columns"] for offer in page.offers(asked, column)]


@pytest.mark.parametrize("name", TABLES)
def test_whatever_is_clicked_the_printed_command_gives_the_same(
    name: str, page: LocalPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(TABLES[name])
    repeated = 0
    for asked, shown in walked(page, name, 7):
        if "command" not in shown:
            assert shown["problem"], asked
            continue
        assert page.result is not None
        words = shlex.split(shown["command"])
        done = CliRunner().invoke(build_app(), [*words[1:], "--json"])
        assert done.exit_code == 0, (asked, done.exception)
        told = json.loads(done.stdout)
        assert told["verdict"] == list(shown["sentences"])
        assert told["values"] == page.result.as_dict()["values"]
        repeated += 1
    assert repeated


def test_a_command_that_cannot_be_written_is_not_given() -> None:
    assert command("a.csv", {"scores": ["dice, mean"]}) == ""
    assert command("a.csv", {"columns": {"video": "a, b", "repeat": "run"}, "better": "smaller"}) == (
        "surgvalid study a.csv --unit 'a, b' --columns repeat=run --better smaller"
    )


def bomb() -> bytes:
    """A workbook of a few kilobytes whose sheet is larger than any is read."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(SHEET, "w") as sheet:
        for _ in range(66):
            sheet.write(b" " * (1 << 20))
    return made.getvalue()


HOSTILE = {
    "bomb.xlsx": (bomb(), "is larger than 64 MiB; not read"),
    "no_workbook.xlsx": (b"PK", "not an xlsx workbook"),
    "nul.csv": (b"model,case,dice\nA,q\x00,1\nB,q\x00,0\n", ""),
    "binary.csv": (bytes(range(256)) * 8, "not UTF-8 text"),
    "binary.parquet": (bytes(range(256)) * 8, "binary.parquet: "),
    "empty.csv": (b"", "empty.csv: "),
    "page.html": (b"<script>alert(1)</script>", "unknown kind of file '.html'"),
    "<img src=x onerror=alert(1)>.csv": (b"<b>a</b>,b\n<script>,2\n", "values of 'b' are better"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_is_answered_with_the_error_of_the_reader(name: str, browser: Browser, place: Path) -> None:
    table, said = HOSTILE[name]
    code, text = browser.asks(f"table/{quote(name, safe='')}", table)
    shown = json.loads(text)
    assert code == 200
    assert said in shown.get("problem", "")
    assert shown.get("problem") or shown["title"]
    assert str(place) not in text
    assert list(place.iterdir()) == []
    assert browser.asks()[0] == 200


@pytest.mark.parametrize(("name", "kept"), [
    ("../../a.csv", ".._.._a.csv"), ("/etc/a.csv", "_etc_a.csv"), ("..\\a.csv", ".._a.csv"), ("..", "table"),
    ("", "table"), ("a\x00b.csv", "a_b.csv"), ("--out.csv", "_out.csv"), ("é" * 300 + ".csv", "é" * 56 + ".csv"),
])  # fmt: skip
def test_a_file_stays_in_the_folder_whatever_it_is_called(name: str, kept: str, browser: Browser, place: Path) -> None:
    shown = browser.drops(name, TABLES["dice.csv"])
    assert shown["name"] == kept
    assert ("problem" in shown) == (kept == "table")
    assert [*place.parent.iterdir()] == [place]


def test_no_file_stays_and_no_place_of_the_machine_is_told(browser: Browser, place: Path) -> None:
    told = [json.dumps(browser.drops(name, table)) for name, table in TABLES.items()]
    browser.drops("dice.csv", TABLES["dice.csv"])
    told += [browser.asks("study.html")[1], json.dumps(browser.offered({}, "frame"))]
    assert "B is better than A" in told[-2]
    assert not [text for text in told if str(place) in text or place.name in text]
    assert list(place.iterdir()) == []


def test_what_the_page_never_sends_is_not_understood(browser: Browser) -> None:
    browser.drops("dice.csv", TABLES["dice.csv"])
    for body in (b"", b"[]", b"{}", b'{"asked": 1}', b'{"asked": {"table": "/etc/passwd"}}', b'{"asked": {"no": 1}}'):
        assert browser.asks("read", body) == (400, '{"problem": "not understood"}')
    assert browser.asks("offers", b'{"asked": {}, "column": "no"}')[0] == 400


def test_the_table_for_a_paper_is_sound_whatever_models_are_called(browser: Browser) -> None:
    table = TABLES["dice.csv"].replace(b",A,", b",my_net & 50%,").replace(b",B,", b",\\input{x}~^,")
    lines = browser.drops("dice.csv", table)["latex"].splitlines()
    assert lines[:2] == [r"\begin{tabular}{lrrrr}", r"\hline"]
    assert lines[4].startswith(r"\textbackslash{}input\{x\}\~{}\^{} & 0.7")
    assert lines[5].startswith(r"my\_net \& 50\% & 0.")
    assert all(line.count(" & ") == 4 and line.endswith(r" \\") for line in (lines[2], *lines[4:6]))


def test_without_a_table_the_verb_opens_the_page_and_ctrl_c_ends_it() -> None:
    words = [sys.executable, "-m", "surgvalid", "study"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        address = run.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=60)[1]
    assert run.returncode == 0
    assert told.splitlines()[-1] == "ended"
    assert "Traceback" not in told


@pytest.mark.parametrize(("words", "said"), [
    (["study", "--metric", "dice"], "FILE is missing"),
    (["study", "--json"], "FILE is missing"),
    (["study", "--out", "x"], "FILE is missing"),
    (["study", "a.csv", "--port", "0"], "a page is served only where no FILE is given"),
])  # fmt: skip
def test_options_of_a_table_need_one(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_bytes(TABLES["dice.csv"])
    done = CliRunner().invoke(build_app(), words)
    assert isinstance(done.exception, Misuse)
    assert said in str(done.exception)
