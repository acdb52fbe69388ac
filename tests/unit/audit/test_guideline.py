"""Guidelines as data: as many items as published, each with words of ours and facts that exist."""

from __future__ import annotations

import pytest

from surgvalid.audit.guideline import guidelines
from surgvalid.audit.pitfalls import pitfall_modules

ITEMS = {"TRIPOD+AI": (27, 52), "CLAIM": (44, 44), "DECIDE-AI": (27, 38), "STARD-AI": (40, 48)}
"""Numbers and their parts; the parts of STARD-AI are counted here, its paper counts numbers only."""


@pytest.mark.parametrize("name", ITEMS)
def test_a_guideline_has_as_many_items_as_its_paper(name: str) -> None:
    numbers = [item.number for item in guidelines()[name].items]
    assert (len({number.rstrip("abcdefg") for number in numbers}), len(numbers)) == ITEMS[name]
    assert len(set(numbers)) == len(numbers)


def test_facts_of_items_are_of_known_sources_and_items() -> None:
    known = {module.ABOUT.code for module in pitfall_modules()}
    for one in guidelines().values():
        for item in one.items:
            assert item.subject
            for fact in item.facts:
                room, _, name = fact.partition(".")
                assert room in ("study", "audit", "registration", "challenge"), fact
                assert room != "audit" or name in known, fact
