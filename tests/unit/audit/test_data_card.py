"""Data cards: what is there, what stands twice, contradicts itself, is lopsided or known elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_set_files import cholec80
from surgvalid.audit.data_card import data_set_card
from surgvalid.errors import InputInvalid


def test_a_card_counts_classes_and_names_what_other_data_sets_share(tmp_path: Path) -> None:
    cholec80(tmp_path)
    card = data_set_card("cholec80", tmp_path, tasks=["phase"])
    phases = {row["label"]: (row["rows"], row["videos"]) for row in card.classes.to_dicts()}
    assert set(phases.values()) == {(60, 2)}
    codes = [finding.code for finding in card.findings]
    assert "card-leakage" in codes
    assert "count-differs" in codes
    assert any("cholect50 (45 videos)" in finding.message for finding in card.findings)


def test_a_folder_of_which_nothing_can_be_read_lists_its_problems(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid):
        data_set_card("cholec80", tmp_path)
