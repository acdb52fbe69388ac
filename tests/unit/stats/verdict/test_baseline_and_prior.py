"""A baseline named beforehand, the chance that a claim is wrong, and the verdict of a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import surgvalid
from surgvalid.errors import UnknownName
from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.comparing.rank_sets import RankSets
from surgvalid.stats.verdict.reach import chance_wrong
from surgvalid.stats.verdict.sentences import order_open, sentences_of, title_of

UNITS = 12


def wide(**models: np.ndarray) -> dict[str, Any]:
    return {"patient": [f"p{unit:02}" for unit in range(UNITS)], **{name: list(one) for name, one in models.items()}}


@pytest.fixture
def table() -> dict[str, Any]:
    """`a` is far ahead of `base`, `b` a little, `c` far behind."""
    rng = np.random.default_rng(1)
    level = rng.uniform(0.5, 0.6, UNITS)
    shifted = {name: level + shift + rng.normal(0, 0.01, UNITS) for name, shift in
               {"base": 0.0, "a": 0.2, "b": 0.001, "c": -0.2}.items()}  # fmt: skip
    return wide(**shifted)


def test_each_model_is_compared_with_the_baseline_alone(table: dict[str, Any]) -> None:
    result = surgvalid.study(table, metric="dice", against="base")
    judged = result.judged
    assert judged.tests == 3
    together = "Intervals of differences hold together at 95% over each other model minus base"
    assert f"{together}, which was named beforehand: whole units" in result.prose
    assert {pair.other for pair in judged.pairs} == {"base"}
    assert judged.winner == "a"
    assert title_of(judged).startswith("a is better than base, by ")
    first, second, *_ = sentences_of(judged)
    assert first.startswith("a is better than base in dice by 0.")
    assert second.startswith("Of the other models, ")
    assert "c does worse than base by 0." in second
    assert second.endswith("open beside base: b.")


def test_fewer_pairs_make_shorter_intervals_and_need_fewer_patients(table: dict[str, Any]) -> None:
    alone, every = (surgvalid.study(table, metric="dice", against=one).judged for one in ("base", None))
    by_name = {pair.other: pair for pair in every.pairs}
    assert alone.deciding.high - alone.deciding.low <= by_name["base"].high - by_name["base"].low
    seven = {name: values[:8] for name, values in table.items()}
    seven |= dict.fromkeys(("d", "e"), seven["a"])
    assert surgvalid.study(seven, metric="dice").judged.kind == "too_few"
    assert surgvalid.study(seven, metric="dice", against="base").judged.kind != "too_few"


def test_a_baseline_that_leads_must_be_better_than_all(table: dict[str, Any]) -> None:
    judged = surgvalid.study(table, metric="dice", against="a").judged
    assert (judged.winner, judged.tests, len(judged.leading)) == ("a", 3, 3)
    assert sentences_of(judged)[0].startswith("a is better than every other model in dice")
    assert surgvalid.study(table, metric="dice", against="c").judged.winner == "a"


def test_an_unknown_baseline_or_prior_is_named(table: dict[str, Any]) -> None:
    wrongs: list[dict[str, Any]] = [{"against": "bse"}, {"prior": "half-equl"}]
    for wrong in wrongs:
        with pytest.raises(UnknownName, match=r"half-equal|base"):
            surgvalid.study(table, metric="dice", **wrong)


def test_a_ranking_has_the_verdict_of_a_study(table: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"metric": "dice", "margin": 0.05, "against": "base", "prior": "half-equal"}
    studied, ranked = surgvalid.study(table, **asked), surgvalid.rank(table, replicates=0, why=True, **asked)
    assert ranked.verdict == studied.verdict
    assert ranked.as_dict()["winner"] == "a"
    assert [row["sentence"] for row in ranked.as_dict()["why"]] == list(studied.verdict)
    shown = list(ranked.screen())
    assert shown[0].startswith(studied.verdict[0])
    assert shown[-1] == "Why"


def test_other_rules_say_that_they_have_no_verdict(table: dict[str, Any]) -> None:
    ranked = surgvalid.rank(table, "median-then-rank", metric="dice", margin=0.05, replicates=0)
    assert ranked.judged is None
    assert any("has no use for 'margin'" in text for text in ranked.warnings)


def test_nothing_is_drawn_where_no_unit_is_known() -> None:
    rows = {"image": [f"{i}.png" for i in range(30)] * 2, "model": ["A"] * 30 + ["B"] * 30,
            "dice": [0.8 + 0.001 * (i % 7) for i in range(60)]}  # fmt: skip
    ranked = surgvalid.rank(rows)
    assert ranked.table["rank_low"].null_count() == 2
    assert "stability" not in ranked.tables
    assert ranked.judged is not None
    assert ranked.judged.kind == "no_unit"


def by_scipy(gaps: np.ndarray) -> float:
    """The same chance from SciPy's noncentral t."""
    units = len(gaps)
    t = abs(stats.ttest_1samp(gaps, 0).statistic)
    effects = stats.cauchy(0, 0.7).ppf((np.arange(400) + 0.5) / 400)
    with np.errstate(invalid="ignore"):  # far effects overflow in SciPy 1.14, where their density is nothing
        density = np.nan_to_num(stats.nct.pdf(t, units - 1, effects * np.sqrt(units)))
    equal = stats.t.pdf(t, units - 1)
    return float((equal + density[effects < 0].sum() / 400) / (equal + density.mean()))


@pytest.mark.parametrize(("units", "shift"), [(6, 0.5), (7, 2.0), (12, 0.6), (12, 5.0), (40, 0.3), (200, 0.1)])
def test_the_chance_is_that_of_the_noncentral_t(units: int, shift: float) -> None:
    gaps = np.random.default_rng(units).normal(shift, 1, units)
    assert chance_wrong(gaps) == pytest.approx(by_scipy(gaps), rel=0.01, abs=1e-6)


def test_a_claim_beyond_doubt_has_a_chance_too() -> None:
    """Differences of a hundred SD leave no density but that of the nearest effect."""
    gaps = 100 + np.linspace(-1, 1, 12)
    assert chance_wrong(gaps) == pytest.approx(0.0, abs=1e-6)
    assert chance_wrong(1e6 * gaps) == pytest.approx(0.0, abs=1e-6)
    assert chance_wrong(np.full(8, 0.2)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.long
def test_the_chance_holds_where_its_prior_does() -> None:
    """Of claims in a world of half equal pairs: what is said, and what is wrong (spec: .080 beside .090 at 6 units)."""
    rng = np.random.default_rng(3)
    said, wrong = [], []
    for _ in range(6000):
        effect = 0.0 if rng.random() < 0.5 else 0.7 * rng.standard_cauchy()
        gaps = rng.normal(effect, 1, 10)
        if flip_p(gaps)[0] <= 0.05:
            said.append(chance_wrong(gaps))
            wrong.append(effect * gaps.mean() <= 0)
    chances, errors = np.array(said), np.array(wrong)
    assert abs(chances.mean() - errors.mean()) < 3 * np.sqrt(0.08 * 0.92 / len(said))
    for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 0.5)):
        inside = (chances > low) & (chances <= high)
        if inside.sum() > 50:
            error = np.sqrt(max(errors[inside].mean(), 0.02) / inside.sum())
            assert abs(chances[inside].mean() - errors[inside].mean()) < 3 * error + 0.02


def test_the_prior_stands_in_the_sentence(table: dict[str, Any]) -> None:
    spoken = surgvalid.compare(table, "a", "base", metric="dice", prior="half-equal").verdict
    (line,) = [one for one in spoken if "chance" in one]
    assert "half of all pairs of models were equal beforehand" in line
    assert "Cauchy(0, 0.7)" in line
    assert not any("chance" in one for one in surgvalid.compare(table, "a", "base", metric="dice").verdict)


@pytest.mark.parametrize(
    ("low", "better", "units", "words"),
    [
        ([1, 1, 1], [], 12, "no two of the 3 models can be told apart, so their order is open"),
        ([1, 1, 1], [], 4, "their order is open: 4 videos cannot show any difference (6 are needed for two models)"),
        ([1, 1, 3], [(0, 2)], 12, "2 of 3 models can be first by these data: a and b."),
        ([1, 2, 2], [(0, 1), (0, 2)], 12, None),
    ],
)
def test_an_order_that_is_open_is_called_so(
    low: list[int], better: list[tuple[int, int]], units: int, words: str | None
) -> None:
    beats = np.zeros((3, 3), dtype=bool)
    for pair in better:
        beats[pair] = True
    found = order_open(list("abc"), RankSets(np.array(low), np.array([3, 3, 3]), beats), units, "video")
    assert (found is None) == (words is None)
    if found is not None and words is not None:
        assert found.message.endswith(words)


def test_no_ranks_are_firm_where_it_depends_on_missing_scores(table: dict[str, Any]) -> None:
    two = {name: list(table[name]) for name in ("patient", "base", "a")}
    two["a"][:2] = [None, None]
    ranked = surgvalid.rank(two, metric="dice", replicates=0)
    assert ranked.judged is not None
    assert ranked.judged.kind == "depends"
    assert ranked.table["rank_low"].null_count() == 2
    clear = surgvalid.rank(two, metric="dice", missing="drop-case", replicates=0)
    assert clear.table["rank_low"].to_list() == [1, 2]


def test_a_column_that_counted_for_nothing_is_named(table: dict[str, Any]) -> None:
    rows = {"patient": table["patient"] * 2, "model": ["A"] * UNITS + ["B"] * UNITS,
            "accuracy": [*table["base"], *table["a"]], "latency_s": list(range(2 * UNITS))}  # fmt: skip
    lines = [line.sentence for line in surgvalid.study(rows).request.interpreted]
    assert any(line.startswith("not used: 'latency_s'; a metric among them") for line in lines)
