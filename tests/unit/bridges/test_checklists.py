"""Checklists and the design document: every item is answered from a file, or says who has to write it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from bridge_tables import bridge_study
from surgvalid import audit_study, preregister
from surgvalid.audit.guideline import guidelines
from surgvalid.bridges import checklists
from surgvalid.errors import FileUnreadable, UnknownName, WouldOverwrite
from surgvalid.studies.preregistration import write_example

CHALLENGE = """
name = "Clips"
contact = "a@example.org"
[texts]
overview = "overview.md"
[ranking]
rule = "mean-then-rank"
missing = "worst"
[[phases]]
slug = "first"
opens = 2026-01-02T00:00:00
[[phases]]
slug = "final"
opens = 2026-02-03T00:00:00
"""


def challenge(folder: Path, text: str = CHALLENGE) -> Path:
    (folder / "overview.md").write_text("# Clips\n\nCount the clips\nthat are seen.\n")
    path = folder / "challenge.toml"
    path.write_text(text)
    return path


def rows(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "checklists.csv", infer_schema=False)


def answer(folder: Path, guideline: str, item: str) -> tuple[str, str, str]:
    named = rows(folder).filter(guideline=guideline, item=item)
    return named.select(pl.col("answer", "source", "to_be_written_by").fill_null("")).row(0)


def test_items_are_answered_with_their_source_or_name_who_writes_them(tmp_path: Path) -> None:
    write_example(tmp_path / "plan.toml")
    result = bridge_study()
    files = checklists.write(
        tmp_path / "out",
        study=result,
        audit=audit_study(result.scores),
        registration=preregister(tmp_path / "plan.toml"),
        challenge=challenge(tmp_path),
    )
    assert {path.name for path in files} == {
        f"{name}.md" for name in ("TRIPOD-AI", "CLAIM", "STARD-AI", "DECIDE-AI", "BIAS")
    } | {"checklists.csv"}
    table = rows(tmp_path / "out")
    assert table.height == sum(len(guidelines()[name].items) for name in checklists.GUIDELINES)
    filled = table["answer"].is_not_null()
    assert (filled == table["source"].is_not_null()).all()
    assert (filled == table["to_be_written_by"].is_null()).all()
    assert set(table["to_be_written_by"].drop_nulls()) == {"the authors", "the organisers"}
    values, source, _ = answer(tmp_path / "out", "STARD-AI", "31")
    first = result.table.row(0, named=True)
    assert f"{first['model']}: {first['value']:.4g}" in values
    assert source == "values.csv; pairs.csv; strata.csv"
    assert answer(tmp_path / "out", "CLAIM", "21")[1].startswith("registration.json: sample_size; audit.html: P1.2")
    assert answer(tmp_path / "out", "TRIPOD+AI", "18a") == ("", "", "the authors")
    text = (tmp_path / "out" / "BIAS.md").read_text()
    assert "**Title**, name of the challenge: Clips. [challenge.toml: name]" in text
    with pytest.raises(WouldOverwrite):
        checklists.write(tmp_path / "out", study=result)


def test_without_any_source_nothing_is_answered(tmp_path: Path) -> None:
    checklists.write(tmp_path / "out")
    assert rows(tmp_path / "out")["answer"].null_count() == rows(tmp_path / "out").height


def test_the_design_document_follows_the_challenge_file(tmp_path: Path) -> None:
    first = checklists.design(challenge(tmp_path))
    assert "mean-then-rank: mean score of each task, ranked" in first
    assert "missing worst. [challenge.toml: ranking.missing]" in first
    assert "opens first: 2026-01-02 00:00:00; final: 2026-02-03 00:00:00. [challenge.toml: phases.opens]" in first
    assert "Count the clips that are seen. [overview.md]" in first
    assert "## Results" not in first
    other = checklists.design(challenge(tmp_path, CHALLENGE.replace("mean-then", "median-then")))
    changed = [new for old, new in zip(first.splitlines(), other.splitlines(), strict=True) if old != new]
    assert [line.partition(",")[0] for line in changed] == ["**Ranking a**", "**Statistical analyses a**"]


def test_what_is_no_challenge_and_no_guideline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="it is no TOML"):
        checklists.design(challenge(tmp_path, "name = "))
    with pytest.raises(UnknownName, match="ranking rule 'mean-than-rank'"):
        checklists.design(challenge(tmp_path, CHALLENGE.replace("mean-then", "mean-than")))
    with pytest.raises(UnknownName, match="guideline 'CLIAM'"):
        checklists.write(tmp_path, names=["CLIAM"])


def test_the_example_of_a_challenge_has_a_design(tmp_path: Path) -> None:
    from surgvalid.host.challenge.example import new_challenge

    new_challenge(tmp_path, start=datetime(2026, 1, 1), videos=1)
    assert "Copeland" in checklists.design(tmp_path / "challenge.toml")
