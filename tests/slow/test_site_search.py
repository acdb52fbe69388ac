"""The site as its readers search it: what somebody asks for in his own words stands first."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from chromium import CHROMIUM
from repository import REPOSITORY

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("mkdocs", reason="mkdocs is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system")]
ASKED = {
    "how many patients": "tutorials/plan-a-study.html",
    "verdict page": "how-to/read-a-verdict-page.html",
    "compare models": "tutorials/compare-models.html",
    "preregister": "how-to/preregister-an-analysis.html",
    "rehearse container": "how-to/rehearse-your-container.html",
}
"""What is typed, and the page that has to stand first."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPOSITORY / "src")}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, timeout=300)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_what_a_reader_asks_for_stands_first_and_no_other_host_is_asked(browser: Any, address: str) -> None:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    asked: list[str] = []
    page.on("request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else asked.append(one.url))
    found = {}
    for words in ASKED:
        page.goto(f"{address}index.html")
        page.locator("[data-md-component=search-query]").click()
        page.locator("[data-md-component=search-query]").press_sequentially(words)
        page.locator(".md-search-result__item a").first.wait_for()
        page.wait_for_timeout(500)
        first = page.locator(".md-search-result__item a").first.get_attribute("href")
        found[words] = Path(str(first).removeprefix(address).partition("#")[0].partition("?")[0]).as_posix()
    assert found == ASKED
    assert asked == []
