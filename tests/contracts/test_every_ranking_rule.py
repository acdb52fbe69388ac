"""What every ranking rule keeps, whoever wrote it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ranking_tables import focus_frame
from surgeval.errors import WouldOverwrite
from surgeval.stats.ranking import RULES, RankResult, rank

GENERIC = {
    "ranks": ["task", "model", "value", "rank"],
    "consensus": ["model", "mean_rank", "rank"],
    "kendall": ["task_a", "task_b", "tau_b"],
}
PAIRS = ["task", "model_a", "model_b", "p_value", "p_adjusted", "significant"]


def run(frame: pl.DataFrame, rule: str, **options: object) -> RankResult:
    extra = {"aggregate": np.mean} if rule == "aggregate-then-rank" else {}
    return rank(frame, rule, boot=30, **extra, **options)  # type: ignore[arg-type]


def final(result: RankResult) -> dict[str, int]:
    if result.rule == "focus":
        return dict(result.places.filter(pl.col("board") == "technical").select("model", "place").iter_rows())
    return dict(result.consensus.select("model", "rank").iter_rows())


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
    assert manifest["seeds"] == {"rank": 42}
    assert (tmp_path / "out" / "methods.txt").read_text().startswith(result.prose)
    with pytest.raises(WouldOverwrite):
        result.to_dir(tmp_path / "out")
    result.to_dir(tmp_path / "out", force=True)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_order_of_rows_changes_nothing(rule: str) -> None:
    frame = focus_frame(4, videos=10, per_video=10)
    before, after = run(frame, rule), run(frame.sample(fraction=1, shuffle=True, seed=1), rule)
    for name in before.tables:
        assert before.tables[name].equals(after.tables[name]), name


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_model_better_on_every_case_is_first_and_copies_share_a_rank(rule: str) -> None:
    frame = focus_frame(3, gap=0.0)
    perfect = frame.filter(pl.col("model") == "A").with_columns(model=pl.lit("P"), value=pl.lit(1.0))
    copy = frame.filter(pl.col("model") == "B").with_columns(model=pl.lit("B2"))
    places = final(run(pl.concat([frame, perfect, copy]), rule))
    assert places["P"] == min(places.values()) == 1
    assert places["B"] == places["B2"]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_prose_names_models_seed_and_replicates(rule: str) -> None:
    result = run(focus_frame(3), rule, seed=7)
    assert result.prose.startswith("3 models were ranked")
    assert "30 resamples" in result.prose
    assert "seed 7" in result.prose
    assert repr(result).startswith(f"Ranking by {rule!r}")


@pytest.mark.parametrize("rule", sorted(RULES))
def test_equal_seeds_give_equal_tables_and_json_can_be_written(rule: str) -> None:
    first, again = run(focus_frame(3), rule), run(focus_frame(3), rule)
    assert json.dumps(first.as_dict()) == json.dumps(again.as_dict())


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_is_documented(rule: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "concepts" / "ranking-rules.md"
    assert f"`{rule}`" in page.read_text(encoding="utf-8")
