"""The printed report: what a browser makes of the page, and what is said where there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chart_examples import EXAMPLES, plain_names
from surgvalid.cli import build_app
from surgvalid.errors import EngineFailed, Misuse
from surgvalid.report import pdf as printing
from surgvalid.report.html import page
from surgvalid.report.pdf import BROWSERS, pdf, printing_browser
from surgvalid.report.section import Prose, Section

MARKUP = ("#panic(1)", "$x^2$", "\\input{/etc/passwd}", "@cite", "<script>x</script>", "// gone")
needs_a_browser = pytest.mark.skipif(
    not any(shutil.which(name) for name in BROWSERS) or shutil.which("pdftotext") is None,
    reason="no browser that prints, or no pdftotext (poppler-utils)",
)


@needs_a_browser
def test_the_page_is_printed_with_its_images_and_text_stays_text(tmp_path: Path) -> None:
    chart = EXAMPLES["value_intervals"](plain_names(3))
    made = pdf(page("T", "k", "f", [Section("a", "A", (*(Prose(text) for text in MARKUP), chart))]))
    (tmp_path / "a.pdf").write_bytes(made)
    done = subprocess.run(["pdftotext", "-layout", str(tmp_path / "a.pdf"), "-"], check=True, capture_output=True)
    text = done.stdout.decode()
    for words in (*MARKUP, "model 002", "mean over questions"):
        assert words in text, words
    assert "Save SVG" not in text


def test_without_a_browser_it_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    with pytest.raises(Misuse, match="open the page and print it"):
        printing_browser()
    for arguments in (["report", str(tmp_path / "none"), "--pdf"], ["demo", "--quick", "--pdf", "--out", "x"]):
        result = CliRunner().invoke(build_app(), arguments)
        assert isinstance(result.exception, Misuse), arguments
    assert not (tmp_path / "x").exists()


def test_a_browser_that_prints_nothing_is_no_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(printing.shutil, "which", lambda name: str(broken))
    with pytest.raises(EngineFailed, match=r"printed nothing \(exit 3\): no display"):
        pdf("<p>x</p>")
