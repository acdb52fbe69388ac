"""The page as a PDF, printed by a browser that is installed: the same images and words, set for A4.

A page holds no code but its own and asks nobody for anything, so that printing it opens nothing either.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from surgvalid.errors import EngineFailed, Misuse

BROWSERS = "chromium chromium-browser google-chrome google-chrome-stable chrome microsoft-edge".split()
TIMEOUT_S = 120
_ARGUMENTS = ("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def printing_browser() -> str:
    """The first browser on the search path that can print without a window.

    Raises:
        Misuse: There is none.
    """
    for name in BROWSERS:
        if (program := shutil.which(name)) is not None:
            return program
    listed = ", ".join(BROWSERS)
    raise Misuse(f"a PDF is printed by a browser, and none of {listed} is installed; open the page and print it")


def pdf(html: str) -> bytes:
    """The bytes of the printed page.

    Raises:
        Misuse: No browser that can print is installed.
        EngineFailed: It printed nothing.
    """
    program = printing_browser()
    with TemporaryDirectory(prefix="surgvalid-report-") as name:
        folder = Path(name)
        page, target = folder / "report.html", folder / "report.pdf"
        page.write_text(html, encoding="utf-8", errors="replace")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        places = [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}", "--no-pdf-header-footer"]
        command = [program, *_ARGUMENTS, *root, *places, page.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise EngineFailed(program, f"has not printed the page within {TIMEOUT_S} s") from None
        if not target.is_file():
            words = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise EngineFailed(program, f"printed nothing (exit {done.returncode}): {words}")
        return target.read_bytes()
