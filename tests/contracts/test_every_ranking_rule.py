"""What every ranking rule keeps, whoever wrote it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ranking_tables import focus_frame
from repository import REPOSITORY
from surgvalid.stats.ranking import RULES, RankResult, rank
from surgvalid.testing._rules import RANKING_RULES

GENERIC = {
    "ranks": ["task", "model", "value", "rank", "rank_low", "rank_high"],
    "consensus": ["model", "mean_rank", "rank", "rank_low", "rank_high"],
    "kendall": ["task_a", "task_b", "tau_b"],
}
NEEDED = {"aggregate-then-rank": {"aggregate": np.mean}}
PAIRS = ["task", "model_a", "model_b", "p_value", "p_adjusted", "significant"]


def run(frame: pl.DataFrame, rule: str, **options: object) -> RankResult:
    return rank(frame, rule, replicates=30, **NEEDED.get(rule, {}), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", RANKING_RULES, ids=lambda kept: kept.__name__)
@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_keeps_what_every_rule_keeps(rule: str, kept: Callable[..., Iterator[str]]) -> None:
    assert list(kept(RULES[rule], NEEDED.get(rule, {}))) == []


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_files_and_columns_of_the_contract_are_written(rule: str, tmp_path: Path) -> None:
    result = run(focus_frame(3), rule)
    result.to_dir(tmp_path / "out")
    written = {path.stem: pl.read_csv(path).columns for path in (tmp_path / "out").glob("*.csv")}
    if rule != "focus":
        for name, columns in GENERIC.items():
            assert written[name] == columns
    if rule == "test-then-rank":
        assert written["pairs"] == PAIRS
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["options"]["rule"] == rule
    assert manifest["seeds"] == {"seed": 42}
    assert (tmp_path / "out" / "methods.txt").read_text().startswith(result.prose)
    result.to_dir(tmp_path / "out", force=True)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_prose_names_models_seed_and_replicates(rule: str) -> None:
    result = run(focus_frame(3), rule, seed=7)
    assert result.prose.startswith("3 models were ranked")
    assert "30 resamples" in result.prose
    assert "seed 7" in result.prose
    assert repr(result).startswith(f"Ranking by {rule!r}")


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_is_documented(rule: str) -> None:
    page = REPOSITORY / "docs" / "concepts" / "ranking-rules.md"
    assert f"`{rule}`" in page.read_text(encoding="utf-8")
