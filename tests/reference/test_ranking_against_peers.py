"""Rankings against plain twins of their specification, votelib, scikit-posthocs and scipy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import votelib.convert
import votelib.evaluate.condorcet
from scikit_posthocs import compact_letter_display
from scipy import stats

from ranking_tables import focus_frame
from reference.plain_ranking import challenger_ranks, euclidean_consensus, focus_technical
from surgvalid import rank
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking import kendall_tau_b, spearman_footrule
from surgvalid.stats.ranking._focus.merge import copeland
from surgvalid.stats.ranking._focus.tables import compact_letters
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._tasks import tasks_of
from surgvalid.stats.ranking.rank_then_aggregate import copies_ranked_together
from surgvalid.stats.ranking.test_then_rank import resampled_p

METHODS = {
    "mean-then-rank": "mean",
    "median-then-rank": "median",
    "q05-then-rank": "q05",
    "rank-then-mean": "rank-then-mean",
    "rank-then-median": "rank-then-median",
    "test-then-rank": "test",
}


def tasks_frame(seed: int, *, decimals: int = 6, holes: float = 0.0, models: int = 6, cases: int = 40) -> pd.DataFrame:
    """Three regimes as in challengeR's example data: separated, close, and pure noise."""
    rng = np.random.default_rng(seed)
    parts = []
    for task, gap in (("close", 0.5), ("noise", 0.0), ("separated", 6.0)):
        values = rng.normal(0, 1, (cases, 1)) + rng.normal(0, 1, (cases, models)) + np.linspace(gap, 0, models)
        values = np.where(rng.random(values.shape) < holes, np.nan, np.round(values, decimals))
        for m in range(models):
            ids = [f"c{c:03d}" for c in range(cases)]
            parts.append(pd.DataFrame({"task": task, "model": f"A{m}", "case": ids, "value": values[:, m]}))
    return pd.concat(parts, ignore_index=True).assign(metric="score")


@pytest.mark.parametrize("seed", range(4))
def test_focus_equals_its_plain_twin(seed: int) -> None:
    frame = focus_frame(5, videos=25, per_video=12, seed=seed, gap=2.5)
    expected, adjusted_p = focus_technical(frame.to_pandas())
    got = rank(frame, board="technical", replicates=0)
    places = got.places.sort("model")
    assert places["copeland"].to_list() == expected["copeland"].to_list()
    assert places["macro_accuracy"].to_list() == pytest.approx(expected["macro_accuracy"].to_list())
    for row in got.pairs.iter_rows(named=True):
        key = row["capability"], row["ood"], row["model_a"], row["model_b"]
        assert row["p_adjusted"] == pytest.approx(adjusted_p[key], rel=1e-10)
    below = places.filter(pl.col("win_rate").is_null())["model"].to_list()
    assert expected.set_index("model").loc[below, "place"].to_list() == (
        places.filter(pl.col("win_rate").is_null())["place"].to_list()
    )
    assert places["copeland"].n_unique() > 2


@pytest.mark.parametrize("smaller", [False, True])
@pytest.mark.parametrize("decimals", [0, 6])
@pytest.mark.parametrize("rule", sorted(METHODS))
def test_point_rankings_equal_challengers_rules(rule: str, decimals: int, smaller: bool) -> None:
    frame = tasks_frame(decimals, decimals=decimals)
    expected = challenger_ranks(frame, METHODS[rule], smaller=smaller)
    got = rank(frame, rule, replicates=0, better="smaller" if smaller else "larger")
    merged = got.ranks.to_pandas().merge(expected, on=["task", "model"], suffixes=("", "_expected"))
    assert len(merged) == 18
    assert merged["rank"].tolist() == merged["rank_expected"].tolist()
    assert merged["value"].tolist() == pytest.approx(merged["value_expected"].tolist())
    consensus = euclidean_consensus(expected)
    for row in got.consensus.iter_rows(named=True):
        assert row["mean_rank"] == pytest.approx(consensus[row["model"]], abs=1e-12)


@pytest.mark.parametrize("rule", ["mean-then-rank", "rank-then-mean", "test-then-rank"])
def test_missing_scores_follow_challengers_rules(rule: str) -> None:
    frame = tasks_frame(3, decimals=1, holes=0.1)
    expected = challenger_ranks(frame, METHODS[rule])
    got = rank(frame.dropna(), rule, better="larger", replicates=0, missing="drop-score").ranks.to_pandas()
    merged = got.merge(expected, on=["task", "model"], suffixes=("", "_expected"))
    assert merged["rank"].tolist() == merged["rank_expected"].tolist()
    assert merged["value"].tolist() == pytest.approx(merged["value_expected"].tolist())


def test_holm_over_all_ordered_pairs_of_a_task() -> None:
    frame = tasks_frame(5, cases=30)
    expected = challenger_ranks(frame, "test", holm_it=True)
    got = rank(frame, "test-then-rank", better="larger", replicates=0, correction="holm").ranks.to_pandas()
    merged = got.merge(expected, on=["task", "model"], suffixes=("", "_expected"))
    assert merged["rank"].tolist() == merged["rank_expected"].tolist()
    assert expected["value"].nunique() > 2


def mean_twin_ranks(frame: pd.DataFrame, rule: str, boot: int, *, unique: bool = False) -> list[float]:
    """Mean ranks over resamples that are written out case by case and ranked by the plain twin."""
    task = tasks_of(ScoreTable.of(frame, better="larger"), RankOptions()).tasks[0]
    counts = task.case_counts(boot, 5, independent=unique)
    ranks = np.zeros((boot, 4))
    for row in range(boot):
        sample = np.repeat(task.values, np.minimum(counts[row], 1) if unique else counts[row], axis=0)
        parts = [
            pd.DataFrame({"task": "t", "model": f"A{m}", "case": range(len(sample)), "value": sample[:, m]})
            for m in range(4)
        ]
        ranks[row] = challenger_ranks(pd.concat(parts), METHODS[rule]).sort_values("model")["rank"].to_numpy()
    return ranks.mean(axis=0).tolist()


@pytest.mark.parametrize("rule", sorted(METHODS))
def test_a_bootstrap_replicate_is_the_rule_on_a_written_out_resample(rule: str) -> None:
    frame = tasks_frame(7, decimals=1, models=4, cases=15)
    frame = frame[frame["task"] == "close"]
    got = rank(frame, rule, better="larger", replicates=12, seed=5).stability.sort("model")
    assert got["mean_rank"].to_list() == pytest.approx(mean_twin_ranks(frame, rule, 12))


def test_challengers_duplicate_handling_tests_each_drawn_case_once() -> None:
    frame = tasks_frame(7, decimals=1, models=4, cases=15)
    frame = frame[frame["task"] == "close"]
    got = rank(frame, "test-then-rank", better="larger", replicates=12, seed=5, challenger_compat=True).stability.sort(
        "model"
    )
    assert got["mean_rank"].to_list() == pytest.approx(mean_twin_ranks(frame, "test-then-rank", 12, unique=True))


def test_challengers_duplicate_handling_ranks_copies_of_a_case_together() -> None:
    rng = np.random.default_rng(1)
    values, counts = rng.normal(0, 1, (12, 3)), rng.multinomial(12, np.full(12, 1 / 12), size=6)
    ranks = stats.rankdata(-values, axis=1, method="min").astype(float)
    for operator in ("mean", "median"):
        got = copies_ranked_together(ranks, counts, operator)
        for row in range(6):
            levels: list[list[float]] = [[], [], []]
            for case, copies in enumerate(counts[row]):
                if not copies:
                    continue
                together = stats.rankdata(-np.tile(values[case], copies), method="min").reshape(copies, 3)
                for model in range(3):
                    levels[model] += together[:, model].tolist()
            expected = [getattr(np, operator)(level) for level in levels]
            assert got[row] == pytest.approx(expected)


def test_challenger_compat_changes_the_bootstrap_and_never_the_ranking() -> None:
    frame = tasks_frame(8)
    for rule in ("rank-then-mean", "test-then-rank"):
        options = {"better": "larger", "replicates": 200}
        right, compat = rank(frame, rule, **options), rank(frame, rule, **options, challenger_compat=True)
        assert right.ranks.equals(compat.ranks)
        assert not right.stability.equals(compat.stability)
        assert any("challengeR" in warning for warning in compat.warnings)


@pytest.mark.parametrize("decimals", [1, 6])
def test_the_weighted_wilcoxon_equals_scipy_on_written_out_resamples(decimals: int) -> None:
    rng = np.random.default_rng(11)
    values = np.round(rng.normal(0, 1, (40, 3)) + np.array([0.3, 0.0, 0.1]), decimals)
    counts = rng.multinomial(40, np.full(40, 1 / 40), size=20)
    got = resampled_p(values, counts)
    pairs = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
    for row in range(20):
        sample = np.repeat(values, counts[row], axis=0)
        for column, (i, j) in enumerate(pairs):
            expected = stats.wilcoxon(
                sample[:, i] - sample[:, j], correction=True, method="asymptotic", alternative="greater"
            ).pvalue
            assert got[row, column] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_copeland_equals_votelib(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list("ABCDE")
    ballots = [tuple(np.array(names)[rng.permutation(5)].tolist()) for _ in range(7)]
    ahead = np.zeros((7, 5, 5), dtype=bool)
    for b, ballot in enumerate(ballots):
        for high, low in ((i, j) for i in range(5) for j in range(i + 1, 5)):
            ahead[b, names.index(ballot[high]), names.index(ballot[low])] = True
    votes: dict[tuple[str, ...], int] = {}
    for ballot in ballots:
        votes[ballot] = votes.get(ballot, 0) + 1
    peer = votelib.evaluate.condorcet.Copeland(second_order=False)
    pairwise = votelib.convert.RankedToCondorcetVotes().convert(votes)
    merged = copeland(ahead)
    place = dict(zip(names, merged.place.tolist(), strict=True))
    order = [place[name] for name in peer.evaluate(pairwise, n_seats=5)]
    assert order == sorted(order)
    first = peer.evaluate(pairwise, n_seats=1)[0]
    assert {name for name in names if place[name] == 1} == ({first} if isinstance(first, str) else set(first))


@pytest.mark.parametrize("seed", range(6))
def test_letters_say_the_same_as_scikit_posthocs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    different = np.triu(rng.random((7, 7)) < 0.4, k=1)
    different |= different.T
    names = list("ABCDEFG")
    p = pd.DataFrame(np.where(different, 0.001, 0.9), index=names, columns=names)
    peer = compact_letter_display(p, alpha=0.05, names=names)
    ours = compact_letters(different, np.arange(7))
    peers = [set(str(peer[name]).replace(" ", "")) for name in names]
    for i in range(7):
        for j in range(7):
            shares = bool(set(ours[i]) & set(ours[j]))
            assert shares == bool(peers[i] & peers[j]) == (i == j or not different[i, j])


@pytest.mark.parametrize("seed", range(5))
def test_tau_b_and_footrule_equal_scipy_and_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 6, 9), rng.integers(1, 6, 9)
    assert float(kendall_tau_b(a, b)) == pytest.approx(stats.kendalltau(a, b, variant="b").statistic)
    assert float(spearman_footrule(a, b)) == sum(abs(int(x) - int(y)) for x, y in zip(a, b, strict=True))
    assert np.isnan(kendall_tau_b(np.ones(4), np.arange(4)))
