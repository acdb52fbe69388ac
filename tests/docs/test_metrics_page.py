"""The page of metrics is what the metrics say about themselves, and every family has a page with its traps."""

import re
from pathlib import Path

import pytest
from docs.metrics_page import _FAMILIES, PAGE

import surgvalid.metrics
from surgvalid.metrics import METRICS

CONCEPTS = PAGE.parents[1] / "concepts"


def test_every_metric_has_a_section_with_conventions() -> None:
    sections = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = {section.partition("\n")[0]: section for section in sections}
    assert set(named) == set(METRICS)
    assert [name for name, section in named.items() if "\n- " not in section] == []


@pytest.mark.parametrize(("family", "link"), [(family, link) for family, _, link in _FAMILIES])
def test_every_metric_is_spoken_of_on_the_page_of_its_family(family: str, link: str) -> None:
    text = Path(CONCEPTS, link).read_text(encoding="utf-8")
    words = set(re.findall(r"[A-Za-z0-9_.-]+", text))
    unnamed = []
    for name in getattr(surgvalid.metrics, family):
        parts = [(name[:cut], name[cut:]) for cut in range(1, len(name))]
        composed = any({head, tail} <= words or {head, tail.lstrip("_")} <= words for head, tail in parts)
        if name not in words and not composed:
            unnamed.append(name)
    assert unnamed == []
