"""The page on printed tables lists the rules that the source has, and no others."""

import re
from pathlib import Path

import surgeval

SOURCE = Path(surgeval.__file__).parent / "audit" / "tables" / "rules"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "audit-printed-tables.md"


def test_the_page_has_exactly_the_rules_of_the_source() -> None:
    heads = [path.read_text(encoding="utf-8").split('"""')[1].partition(":")[0] for path in SOURCE.glob("[a-z]*.py")]
    rows = re.findall(r"^\| (`[^|]+`) \| .+ \| (?:impossible|inconsistent|suspicious)", PAGE.read_text(), re.MULTILINE)
    named = [re.findall(r"`([a-z0-9-]+)`", text) for text in (" ".join(heads), " ".join(rows))]
    assert len(named[0]) == 17
    assert sorted(named[0]) == sorted(named[1])
