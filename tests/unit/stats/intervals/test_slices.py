"""Columns with several labels per case are split wherever tables are cut into slices, as in `strata`."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.comparing.ensembles import ensembles
from surgvalid.stats.comparing.profiles import profiles
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.interval import interval

LABELS = ["smoke;blood", "smoke", "blood", "", "smoke;blood", "smoke", "blood", "smoke"]
SAID = (
    "Column 'seen' holds several labels per case and was split: 2 strata that overlap "
    "(16 cases lie in several, 8 in none)."
)


def table(labels: list[str] | None = None) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    rows = pl.DataFrame(
        {
            "case": [f"q{i:02d}" for i in range(64)],
            "video": [f"v{i // 8}" for i in range(64)],
            "seen": (labels or LABELS) * 8,
        }
    )
    models = [
        rows.with_columns(
            model=pl.lit(name), metric=pl.lit("correct"), response=pl.Series(rng.choice(["x", "y"], 64)),
            value=pl.Series((rng.random(64) < 0.6).astype(float)),
        )
        for name in "AB"
    ]  # fmt: skip
    return pl.concat(models)


def test_a_case_with_two_labels_lies_in_both_slices_and_those_without_any_in_one_of_their_own() -> None:
    result = interval(table(), by=["seen"])
    own = result.table.filter(pl.col("model") == "A").select("seen", "cases").rows()
    assert own == [("blood", 32), ("smoke", 40), (None, 8)]
    assert SAID in [one.message for one in result.findings]
    smoke = table().filter(pl.col("seen").str.contains("smoke"))
    alone = interval(smoke.drop("seen")).table.select("value", "low", "high", "cases")
    assert result.table.filter(pl.col("seen") == "smoke").select(alone.columns).equals(alone)


@pytest.mark.parametrize("verb", [interval, profiles, ensembles], ids=lambda verb: verb.__name__)
def test_every_verb_with_slices_splits_labels_and_says_so(verb) -> None:
    result = verb(table(), by=["seen"])
    assert set(result.table["seen"]) == {"smoke", "blood", None}
    assert SAID in [one.message for one in result.findings]


def test_comparisons_and_strata_agree_on_the_cases_of_a_label() -> None:
    compared = compare(table(), "A", "B", by=["seen"])
    assert SAID in [one.message for one in compared.findings]
    cases = dict(compared.table.drop_nulls("seen").select("seen", "cases").iter_rows())
    of_strata = strata(table(), ["seen"]).table
    assert cases == dict(of_strata.filter(pl.col("model") == "A").select("stratum", "cases").iter_rows())


def test_another_separator_and_lists_are_split_too() -> None:
    barred = table([one.replace(";", "|") for one in LABELS])
    assert interval(barred, by=["seen"]).table["seen"].n_unique() == 4
    assert interval(barred, by=["seen"], separator="|").table["seen"].n_unique() == 3
    lists = table().with_columns(seen=pl.col("seen").str.split(";").list.eval(pl.element().filter(pl.element() != "")))
    assert interval(lists, by=["seen"]).table.equals(interval(table(), by=["seen"]).table)


def test_the_command_line_splits_labels(tmp_path) -> None:
    table().write_csv(tmp_path / "scores.csv")
    words = ["analyse", "interval", str(tmp_path / "scores.csv"), "--by", "seen", "--json"]
    found = json.loads(CliRunner().invoke(build_app(), words, catch_exceptions=False).stdout)
    assert {row["seen"] for row in found["rows"]} == {"smoke", "blood", None}
