"""Failure analyses know what is independent as every verb does, whatever its column is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surgvalid


def rows(unit: str) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [
        {unit: f"p{who}", "model": model, "old": who % 2, "dice": float(0.7 + 0.05 * np.sin(who) + 0.02 * rng.normal())}
        for who in range(10)
        for _ in range(5)
        for model in "AB"
    ]


@pytest.mark.parametrize("unit", ["patient", "video", "subject", "Pat.-ID", "case_id", "operation", "mrn"])
def test_rows_of_one_patient_are_never_independent(unit: str) -> None:
    effects = surgvalid.failures(rows(unit), outcome="dice", fixed=["old"]).table
    assert effects.filter(term="old")["df"].to_list() == pytest.approx([8.0])


def test_what_is_independent_is_told() -> None:
    result = surgvalid.failures(rows("subject"), outcome="dice", fixed=["old"])
    assert "10 patients ('subject') are independent" in [line.sentence for line in result.request.interpreted]
