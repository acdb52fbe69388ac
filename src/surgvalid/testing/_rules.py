"""What every ranking rule keeps: no influence of the order of rows, fairness to the dominating and the equal."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import WouldOverwrite
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking import RankOptions, RankResult, RankRule, rule_named
from surgvalid.testing._broken import Broken, refuse

PLACES = ("place", "rank")
"""The column of the main table that says who is before whom."""


def sample_scores(*, videos: int = 12, per_video: int = 10, gap: float = 1.5, seed: int = 0) -> pl.DataFrame:
    """Scores of three models A, B, C, in that order of skill, on cases that every rule can rank."""
    rng = np.random.default_rng(seed)
    video = np.repeat(np.arange(videos), per_video)
    skill = np.linspace(gap, -gap, 3) / 2 + rng.normal(0, 1, (videos, 1)) + rng.normal(0, 0.4, (videos, 3))
    values = (rng.random((len(video), 3)) < 1 / (1 + np.exp(-skill[video]))).astype(float)
    group = np.array(["object_recognition", "temporal_grounding"])[rng.integers(0, 2, len(video))]
    ood, clinical = rng.random((2, len(video))) < 0.5
    cases = {
        "metric": ["correct"] * len(video),
        "case": [f"q{number:04d}" for number in range(len(video))],
        "video": [f"v{number:02d}" for number in video],
        "capability": group,
        "ood": ood,
        "clinical": clinical,
    }
    models = [
        pl.DataFrame({"model": [name] * len(video), **cases, "value": values[:, at]}) for at, name in enumerate("ABC")
    ]
    return pl.concat(models)


def check_rule(rule: RankRule | str, **options: Any) -> None:
    """Nothing, when a ranking rule keeps the rules of ranking rules.

    Args:
        rule: The rule, or its name.
        **options: What it needs to be told beyond its defaults, as `rank` takes it.

    Raises:
        ContractBroken: With every rule that it does not keep.

    Example:
        >>> check_rule("mean-then-rank")
    """
    named = rule_named(rule) if isinstance(rule, str) else rule
    refuse("ranking rule", named.name, (each(named, options) for each in RANKING_RULES))


def the_order_of_rows_changes_nothing(rule: RankRule, options: dict[str, Any]) -> Broken:
    """Every table is the same when the rows of the scores are shuffled."""
    scores = sample_scores()
    before, after = (_run(rule, frame, options) for frame in (scores, scores.sample(fraction=1, shuffle=True, seed=1)))
    for name in before.tables:
        if not before.tables[name].equals(after.tables[name]):
            yield f"table {name!r} changes with the order of the rows"


def a_model_better_on_every_case_is_first_and_copies_share_a_place(rule: RankRule, options: dict[str, Any]) -> Broken:
    """Nobody stands before a model that is never worse, and a model and its copy stand together."""
    scores = sample_scores(gap=0.0)
    perfect = scores.filter(model="A").with_columns(model=pl.lit("P"), value=pl.lit(1.0))
    copy = scores.filter(model="B").with_columns(model=pl.lit("B2"))
    table = _run(rule, pl.concat([scores, perfect, copy]), options).table
    column = next((name for name in PLACES if name in table.columns), None)
    if column is None or "model" not in table.columns:
        yield f"its main table has the columns {table.columns}; expected model and {' or '.join(PLACES)}"
        return
    boards = [name for name in ("board", "task") if name in table.columns]
    for board in table.partition_by(boards) if boards else [table]:
        place = dict(board.select("model", column).iter_rows())
        if place["P"] != 1:
            yield f"a model that is right on every case is placed {place['P']}"
        if place["B"] != place["B2"]:
            yield f"a model is placed {place['B']} and its exact copy {place['B2']}"


def equal_seeds_give_equal_results_as_plain_data(rule: RankRule, options: dict[str, Any]) -> Broken:
    """Two runs are the same, and can be written as JSON."""
    first, again = (json.dumps(_run(rule, sample_scores(), options).as_dict()) for _ in range(2))
    if first != again:
        yield "two runs with the same seed differ"


def files_are_written_and_never_overwritten_unasked(rule: RankRule, options: dict[str, Any]) -> Broken:
    """Tables and a manifest, under the name of the rule; a second time only by force."""
    result = _run(rule, sample_scores(), options)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        result.to_dir(out)
        if result.rule != rule.name:
            yield f"its result names the rule {result.rule!r}"
        if not {"manifest.json", *(f"{name}.csv" for name in result.tables)} <= {path.name for path in out.iterdir()}:
            yield "not every table is written"
        try:
            result.to_dir(out)
        except WouldOverwrite:
            return
        yield "an earlier result was overwritten unasked"


def the_prose_says_what_was_done(rule: RankRule, options: dict[str, Any]) -> Broken:
    """A paragraph that can stand in a paper: how many models, and from which seed."""
    prose = _run(rule, sample_scores(), options, seed=71).prose
    for what in ("3 models", "seed 71"):
        if what not in prose:
            yield f"its prose does not say {what!r}: {prose[:80]!r}"


def _run(rule: RankRule, scores: pl.DataFrame, options: dict[str, Any], *, seed: int = 42) -> RankResult:
    return rule.run(ScoreTable.of(scores), RankOptions(replicates=30, seed=seed, **options))


RANKING_RULES = (
    the_order_of_rows_changes_nothing,
    a_model_better_on_every_case_is_first_and_copies_share_a_place,
    equal_seeds_give_equal_results_as_plain_data,
    files_are_written_and_never_overwritten_unasked,
    the_prose_says_what_was_done,
)
