"""The printed report of a whole challenge: four pages, or everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from report_folder import shared_challenge
from surgvalid.report.report import make_report

pytestmark = pytest.mark.slow


def pages(data: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", data))


def test_the_printed_report_of_a_challenge_has_at_most_four_pages(tmp_path: Path) -> None:
    made = make_report(shared_challenge())
    short = made.to_pdf(tmp_path / "short.pdf").read_bytes()
    full = made.to_pdf(tmp_path / "full.pdf", full=True).read_bytes()
    assert 2 <= pages(short) <= 4 < pages(full)
    names = [section.name for section in made.shortened().sections]
    assert names == ["verdict", "limitations", "methods"]
