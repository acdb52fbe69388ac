"""Pages under axe-core: nothing serious, in light and in dark, on a screen and a phone, as they open and all unfolded.

axe-core comes from npm; without npm, a network or Chromium the test is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from chromium import CHROMIUM
from report_folder import shared_challenge
from surgvalid.report.report import make_report
from surgvalid.studies.local_page import LocalPage
from surgvalid.studies.study import study

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this system"),
]
AXE = "axe-core@4.10.2"
OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axe")
    command = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        str(folder),
        AXE,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not script.is_file():
        pytest.skip("axe-core cannot be fetched by npm")
    return script


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A challenge, a study, and the table of that study."""
    folder = tmp_path_factory.mktemp("pages")
    draw = np.random.default_rng(3).normal
    rows = [
        (f"P{patient:02}", f"f{frame}", model, 0.7 + 0.01 * (model == "B") + 0.02 * draw())
        for patient in range(12) for frame in range(5) for model in "AB"
    ]  # fmt: skip
    made = {name: folder / name for name in ("table.csv", "study.html", "challenge.html")}
    pl.DataFrame(rows, schema=["patient", "frame", "model", "dice"], orient="row").write_csv(made["table.csv"])
    made["study.html"].write_text(study(made["table.csv"], margin=0.02).html(), encoding="utf-8")
    make_report(shared_challenge()).to_html(made["challenge.html"])
    return made


def seen(browser: Any, width: int, scheme: str) -> Any:
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True, color_scheme=scheme)
    return context.new_page()


def serious(page: Any, axe: Path, place: str = "") -> dict[tuple[str, str], str]:
    """What axe-core calls serious or critical, each with the first element; images are looked at too."""
    page.add_script_tag(path=str(axe))
    problems = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return {
        (place, one["id"]): one["nodes"][0]["html"][:200]
        for one in problems
        if one["impact"] in ("serious", "critical")
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["study.html", "challenge.html"])
def test_axe_finds_nothing_serious_on_a_page(
    name: str, width: int, scheme: str, axe: Path, browser: Any, pages: dict[str, Path]
) -> None:
    page = seen(browser, width, scheme)
    page.goto(pages[name].as_uri())
    found = serious(page, axe, "as it opens")
    page.evaluate(OPEN_ALL)
    assert {**found, **serious(page, axe, "all open")} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious_on_the_page_that_takes_a_table(
    width: int, scheme: str, axe: Path, browser: Any, pages: dict[str, Path]
) -> None:
    server = LocalPage()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    page = seen(browser, width, scheme)
    page.goto(server.address_of())
    found = serious(page, axe, "empty")
    page.locator("#file").set_input_files(pages["table.csv"])
    page.locator("#title").filter(has_text="better").wait_for()
    page.evaluate(OPEN_ALL)
    found |= serious(page, axe, "read")
    page.locator("button.role.waits").click()
    page.locator("#offers[open]").wait_for()
    found |= serious(page, axe, "offers")
    server.shutdown()
    server.server_close()
    assert found == {}
