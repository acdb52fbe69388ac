"""The page of data sets is what the adapters say, and explains every finding they give."""

import re
from pathlib import Path

from docs.datasets_page import PAGE, page

import surgvalid.datasets
from surgvalid.datasets import DATA_SETS

SOURCE = Path(surgvalid.datasets.__file__).parent
SPOKEN = re.compile(r"folder\.(?:problem|warn|note)\(\s*\"([a-z-]+)\"|self\.(?:problem|warn|note)\(\s*\"([a-z-]+)\"")


def test_the_page_is_what_the_adapters_say_now():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m docs.datasets_page"


def test_every_data_set_has_a_section():
    headings = set(re.findall(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(DATA_SETS) <= headings


HERE = [*SOURCE.glob("*.py"), *SOURCE.glob("sets/*.py")]
"""Files that read data sets; findings of annotation tools are not of this page."""


def test_every_code_of_a_finding_is_explained_and_no_other():
    text = "".join(path.read_text(encoding="utf-8") for path in HERE)
    spoken = {first or second for first, second in SPOKEN.findall(text)}
    table = PAGE.read_text(encoding="utf-8").partition("## Findings")[2].partition("\n## ")[0]
    explained = {
        code for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for code in re.findall(r"`(.+?)`", row)
    }
    assert spoken == explained
