"""The report under axe-core: nothing serious, in light and in dark, on the verdict and the wrong answers.

Images are left out: each is an image with a text alternative, and its letters stand on the white of its card.
axe-core comes from npm; without npm, a network or Chromium the test is skipped.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from report_folder import shared_challenge
from surgvalid.report.report import make_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this system"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on this system"),
]
AXE = "axe-core@4.10.2"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, axe: Path, tmp_path: Path) -> None:
    page_file = make_report(shared_challenge()).to_html(tmp_path / "report.html")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True, color_scheme=scheme)
        page = context.new_page()
        page.goto(page_file.as_uri())
        page.add_script_tag(path=str(axe))
        found = {}
        for place in ("#verdict", "#cases"):
            page.evaluate("place => { location.hash = place; }", place)
            page.wait_for_timeout(300)
            problems = page.evaluate("axe.run({ exclude: [['svg']] }, { resultTypes: ['violations'] })")["violations"]
            found |= {
                (place, one["id"]): one["nodes"][0]["html"][:200]
                for one in problems
                if one["impact"] in ("serious", "critical")
            }
        browser.close()
    assert found == {}
