"""Photograph the report of the quick demo for the README: `python -m docs.figures.report_page`.

Needs the browser chromium of the distribution and the test tools. Beside the image, `report-page.json` keeps what it
shows (the hash of every leaderboard), so that a test can tell when the demo has moved on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PICTURE = Path(__file__).with_name("report.png")
RECORD = Path(__file__).with_name("report-page.json")
BROWSER = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDTH_PX, HEIGHT_PX = 1240, 1480


def shown(demo: Path) -> dict[str, str]:
    """What an image of this demo shows: the hash of every leaderboard."""
    boards = sorted((demo / "rank").glob("*/places.csv"))
    return {path.parent.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in boards}


def main() -> None:
    """Run the demo and take the image."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as scratch, sync_playwright() as driver:
        demo = Path(scratch) / "demo"
        subprocess.run([sys.executable, "-m", "surgvalid", "demo", "--quick", "--out", str(demo)], check=True)
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        page.goto((demo / "report.html").as_uri())
        page.wait_for_timeout(1500)
        page.screenshot(path=str(PICTURE))
        browser.close()
        RECORD.write_text(json.dumps(shown(demo), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
