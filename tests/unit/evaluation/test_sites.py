"""What sites shared is ranked and analysed as the raw data of all sites would be, and no small count leaves."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from scipy.optimize import linprog
from typer.testing import CliRunner

import surgvalid
from surgvalid.cli import build_app
from surgvalid.errors import Misuse
from surgvalid.evaluation.sharing import Shareable, SharedFile, read_shared, shared_file
from surgvalid.evaluation.sites import SitesResult
from surgvalid.evaluation.small_counts import _is_small

SKILLS = {"one": 1.4, "two": 1.0, "three": 0.9}
ASKED = {"metrics": ["accuracy", "macro_f1"], "classes": ["a", "b", "c"], "by": ["smoke"]}


def frames(site: str, skill: float, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng([seed, len(site)])
    rows = []
    for video in range(7):
        ease = rng.normal(0, 0.5)
        for frame in range(240):
            truth, smoke = str(rng.choice(list("abc"))), bool(rng.random() < 0.4)
            right = rng.random() < 1 / (1 + np.exp(-(skill + ease - 0.9 * smoke)))
            guess = truth if right else "abc"[("abc".index(truth) + 1) % 3]
            rows.append({"video": f"{site[0]}{video}", "frame": frame, "reference": truth, "prediction": guess,
                         "smoke": "yes" if smoke else "no"})  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> tuple[SitesResult, list[Path], pl.DataFrame]:
    """Three models of two sites from their files, the folders of the raw data, and the raw rows."""
    folder, files, folders, raw = tmp_path_factory.mktemp("sites"), [], [], []
    for model, skill in SKILLS.items():
        each = []
        for site in ("north", "southern"):
            (folder / site).mkdir(exist_ok=True)
            each.append(frames(site, skill, 5))
            made = surgvalid.evaluate("classification", each[-1], model=model, share=True, **ASKED)
            files.append(surgvalid.share(made, folder / site / f"{model}.parquet", site=site, cell_size=2))
        whole = surgvalid.evaluate("classification", pl.concat(each), model=model, **ASKED)
        folders.append(whole.to_dir(folder / f"raw-{model}"))
        raw.append(pl.concat(each).with_columns(model=pl.lit(model)))
    return surgvalid.combine(files), folders, pl.concat(raw)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_a_ranking_over_sites_is_that_of_the_raw_data(metric: str, pooled) -> None:
    result, folders, _ = pooled
    ours, raw = (surgvalid.rank(one, metric=metric, rule="mean-then-rank") for one in (result.scores, folders))
    assert ours.table["model"].to_list() == raw.table["model"].to_list()
    assert ours.table["value"].to_list() == pytest.approx(raw.table["value"].to_list(), abs=1e-12)
    assert ours.judged.kind == raw.judged.kind
    for mine, theirs in zip(ours.judged.pairs, raw.judged.pairs, strict=True):
        for name in ("difference", "low", "high", "p_adjusted"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=1e-12)


@pytest.mark.parametrize(("metric", "of_raw"), [("accuracy", "correct"), ("accuracy", "accuracy"), ("macro_f1",) * 2])
def test_two_models_over_sites_are_compared_by_the_test_of_the_raw_data(metric: str, of_raw: str, pooled) -> None:
    """Accuracy is the mean of right and wrong: the sign-flip test, not the jackknife of a pooled value."""
    result, folders, _ = pooled
    for row in result.tables["comparisons"].filter(pl.col("metric") == metric).iter_rows(named=True):
        raw = surgvalid.compare(folders, row["model_a"], row["model_b"], metric=of_raw).table.row(0, named=True)
        assert row["method"] == raw["method"] == ("sign-flip" if metric == "accuracy" else "jackknife by class")
        for name in ("difference", "low", "high", "p_value"):
            assert row[name] == pytest.approx(raw[name], abs=1e-12)


@pytest.mark.parametrize("of_raw", ["correct", "accuracy"])
def test_ranges_of_ranks_are_those_of_the_raw_data(of_raw: str, pooled) -> None:
    result, folders, _ = pooled
    names = ["model", "rank", "rank_low", "rank_high"]
    ours = surgvalid.rank(result.scores, metric="accuracy", rule="mean-then-rank").ranks.select(names)
    raw = surgvalid.rank(folders, metric=of_raw, rule="mean-then-rank").ranks.select(names)
    assert ours["rank_low"].null_count() == 0
    assert ours.rows() == raw.rows()


def test_a_failure_analysis_over_sites_is_that_of_the_raw_data(pooled) -> None:
    result, _, raw = pooled
    right = (pl.col("reference") == pl.col("prediction")).sum()
    counts = raw.group_by("model", "video", "smoke").agg(successes=right, trials=pl.len())
    asked = {"successes": "successes", "trials": "trials", "fixed": ["smoke"]}
    ours = surgvalid.failures(result.tables["counts"].sort("model", "site", "video", "smoke"), **asked).table
    whole = surgvalid.failures(counts.sort("model", "video", "smoke"), **asked).table
    names = ["estimate", "std_error", "odds_ratio", "low", "high", "df"]
    assert ours["term"].to_list() == whole["term"].to_list() == ["(Intercept)", "smoke[yes]"]
    assert np.allclose(ours.select(names), whole.select(names), rtol=1e-12, atol=1e-12, equal_nan=True)
    assert ours["odds_ratio"][1] < 0.6


def test_the_pooled_folder_is_what_other_verbs_take(pooled, tmp_path: Path) -> None:
    pooled[0].to_dir(tmp_path / "pooled")
    ranked = CliRunner().invoke(build_app(), ["rank", str(tmp_path / "pooled"), "--metric", "macro_f1"])
    assert ranked.exit_code == 0, ranked.output
    assert "one is better than every other model in macro_f1" in ranked.output
    words = ["analyse", "failures", str(tmp_path / "pooled" / "counts.csv"), "--outcome", "successes/trials"]
    analysed = CliRunner().invoke(build_app(), [*words, "--fixed", "smoke"])
    assert analysed.exit_code == 0, analysed.output
    assert "Most harmful: smoke[yes]" in analysed.output


@cache
def shareable() -> Shareable:
    made = surgvalid.evaluate("classification", frames("north", 1.0, 1).head(240), share=True, **ASKED).shareable
    assert made is not None
    return made


def written(*given: Any, **limits: Any) -> SharedFile:
    shared = shared_file(*given, **limits)
    shared.write()
    return shared


@st.composite
def counted(draw: DrawFn) -> pl.DataFrame:
    rows = [
        {"metric": "correct", "video": f"v{video}", "smoke": smoke, "blood": blood, "successes": right,
         "trials": right + draw(st.integers(0, 12))}
        for video in range(draw(st.integers(1, 5)))
        for smoke in ("yes", "no")
        for blood in (True, None)
        if (right := draw(st.integers(0, 12))) is not None and draw(st.booleans())
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"blood": pl.Boolean}) if rows else draw(counted())


@settings(deadline=None, max_examples=40)
@given(counted(), st.integers(1, 8))
def test_no_small_count_leaves_and_none_can_be_had_by_subtraction(counts: pl.DataFrame, cell: int) -> None:
    """One partition of videos holds for all that leaves, so no total less another gives a small count away."""
    videos = tuple(counts["video"].unique().sort())
    one = shareable()
    recipe, held = one.statistics["accuracy"]
    packed = held.packed._replace(units=[held.packed.units[0]] * len(videos))
    given_ = Shareable({"accuracy": (recipe, held._replace(videos=videos, packed=packed, cases=(240,) * len(videos)))},
                       {}, dict.fromkeys(videos, 240), {**one.head, "by": ["smoke", "blood"]}, {}, counts)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        shared = written(given_, Path(folder) / "x.parquet", site="s", minimum_cases=1, cell_size=cell)
        again = read_shared(Path(folder) / "x.parquet")
    said = pl.DataFrame(again.head["counts"], infer_schema_length=None)
    if "successes" in shared.head["withheld"]:
        assert said.is_empty()
        return
    for column in (said["successes"], said["trials"] - said["successes"]):
        assert not ((column > 0) & (column < cell)).any()
    key = ["smoke", "blood"]
    sums = [rows.group_by(key).agg(pl.col("successes", "trials").sum()).sort(key) for rows in (said, counts)]
    assert sums[0].rows() == sums[1].rows()
    assert set(said["video"]) <= set(shared.statistics.frame["video"])


def counts_of(confusion: np.ndarray) -> np.ndarray:
    right, every = np.diag(confusion), confusion.sum()
    missed, wrong = confusion.sum(axis=1) - right, confusion.sum(axis=0) - right
    return np.stack([right, wrong, missed, every - right - missed - wrong], axis=1).astype(float)


def test_a_class_that_is_never_named_gives_no_small_count_away() -> None:
    """Of class c 3 cases were taken for a: every count is 5 or more, and the errors for a less those of b are 3."""
    confusion = np.array([[40, 8, 0], [6, 50, 0], [3, 9, 0]])
    counts = counts_of(confusion)
    assert not ((counts > 0) & (counts < 5)).any()
    assert _is_small(counts, int(confusion.sum()), 5)
    assert not _is_small(counts_of(np.array([[40, 8, 0], [6, 50, 0], [7, 9, 0]])), 120, 5)


def test_cases_that_a_pair_does_not_count_are_not_few() -> None:
    assert _is_small(np.array([30.0, 58.0]), 60, 5)
    assert not _is_small(np.array([30.0, 60.0]), 60, 5)
    assert not _is_small(np.array([30.0, 50.0]), 60, 5)


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 4), st.data())
def test_no_small_confusion_follows_from_the_counts_that_leave(classes: int, data: st.DataObject) -> None:
    """Exact least and greatest number of every confusion, by linear programming over tables with the same counts."""
    cells = st.sampled_from([0, 0, 3, 5, 8, 13])
    confusion = np.array(data.draw(st.lists(st.lists(cells, min_size=classes, max_size=classes),
                                            min_size=classes, max_size=classes)))  # fmt: skip
    np.fill_diagonal(confusion, 30)
    confusion[:, -1] *= data.draw(st.booleans())
    counts = counts_of(confusion)
    if _is_small(counts, int(confusion.sum()), 5):
        return
    off = [(i, j) for i in range(classes) for j in range(classes) if i != j]
    sums = np.array([[float(pair[axis] == one) for pair in off] for axis in (0, 1) for one in range(classes)])
    for place in range(len(off)):
        cost = np.eye(len(off))[place]
        least, most = (
            sign * linprog(sign * cost, A_eq=sums, b_eq=[*counts[:, 2], *counts[:, 1]]).fun for sign in (1, -1)
        )
        assert not (least > 0.5 and most < 4.5), (confusion, off[place])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6), st.integers(1, 8))
def test_two_metrics_of_the_same_cases_give_no_small_count_away(counts: list[tuple[int, int]], cell: int) -> None:
    """Right at once in 50 of 60 and among three in 53: the three that were right later are a count, too."""
    one, videos = shareable(), tuple(f"v{place}" for place in range(len(counts)))
    recipe, held = one.statistics["accuracy"]

    def counted_as(hits: list[int]) -> tuple:
        units = [{"statistics": np.array([float(hit), 60.0])} for hit in hits]
        return recipe, held._replace(videos=videos, packed=held.packed._replace(units=units), cases=(60,) * len(hits))

    first, later = zip(*counts, strict=True)
    both = {"first": counted_as([*first]), "later": counted_as([*later])}
    given_ = Shareable(both, {}, dict.fromkeys(videos, 60), one.head)
    with tempfile.TemporaryDirectory() as folder:
        try:
            shared = written(given_, Path(folder) / "x.parquet", site="s", minimum_cases=1, cell_size=cell)
        except Misuse:
            return
    numbers = shared.statistics.frame.with_columns(pl.col("numbers").list.first().alias("hits"))
    for _, rows in numbers.group_by("video"):
        hits, cases = rows["hits"].to_list(), rows["numbers"].list.last()[0]
        told = {*hits, *(cases - hit for hit in hits), *(abs(a - b) for a in hits for b in hits)}
        told |= {abs(cases - sum(hits))} if len(hits) == 2 else set()
        assert not [count for count in told if 0 < count < cell]


def test_thresholds_and_pixels_give_no_small_count_away() -> None:
    """Of 60 boxes 40 fit at one threshold and 37 at the next; 3 of 40 reference pixels were not found."""
    nested = np.array([[40.0, 20.0, 9.0, 2.5], [37.0, 23.0, 12.0, 2.5]])
    assert _is_small(nested, 100, 5)
    assert not _is_small(nested + np.array([[0, 0, 0, 0], [-7, 7, 0, 0]]), 100, 5)
    assert _is_small(np.array([[37.0, 60.0, 40.0]]), 100, 5)
    assert not _is_small(np.array([[37.0, 60.0, 50.0]]), 100, 5)


def test_videos_of_one_model_alone_are_said_to_be_left_out_of_the_comparison(tmp_path: Path) -> None:
    rows = frames("north", 1.2, 3)
    for model, each in (("a", rows), ("b", rows.filter(pl.col("video") != "n0"))):
        made = surgvalid.evaluate(
            "classification", each, model=model, share=True, metrics=["accuracy"], classes=["a", "b", "c"]
        )
        surgvalid.share(made, tmp_path / f"{model}.parquet", site="north", cell_size=2)
    result = surgvalid.combine(sorted(tmp_path.glob("*.parquet")))
    assert result.tables["comparisons"]["videos"].item() == 6
    assert result.table["videos"].to_list() == [7, 6]
    told = next(one for one in result.findings if one.code == "sites-not-compared")
    assert "1 of 7 videos" in told.message


def test_two_files_of_one_hospital_cannot_be_subtracted(tmp_path: Path) -> None:
    """One more frame between two files would say whether it was right; who was added can be seen and is said."""
    rows = frames("north", 1.2, 3)
    asked = {"model": "a", "share": True, "metrics": ["accuracy"], "classes": ["a", "b", "c"]}
    more = pl.concat([rows, rows.filter(pl.col("video") == "n0").tail(1).with_columns(frame=pl.lit(999, pl.Int64))])

    def give(table: pl.DataFrame, name: str) -> Path:
        made = surgvalid.evaluate("classification", table, **asked)
        return surgvalid.share(made, tmp_path / name, site="north", cell_size=5)

    first = give(rows.filter(pl.col("video") != "n6"), "first.parquet")
    assert "came between" not in first.with_suffix(".html").read_text()
    with pytest.raises(Misuse, match=r"1 videos \(first: north-.*\) have other cases than in first.parquet of 20"):
        give(more, "second.parquet")
    assert not list(tmp_path.glob("*second*"))
    third = give(rows, "third.parquet")
    assert "lacked 1: who came between the two can be seen" in third.with_suffix(".html").read_text()
    right = rows.with_row_index().filter(pl.col("reference") == pl.col("prediction"))["index"][0]
    wrong = pl.col("reference").replace_strict({"a": "b", "b": "c", "c": "a"})
    turned = rows.with_row_index().with_columns(
        prediction=pl.when(pl.col("index") == right).then(wrong).otherwise("prediction")
    )
    with pytest.raises(Misuse, match="or other metrics or counts"):
        give(turned.drop("index"), "fourth.parquet")
    assert give(rows, "again.parquet").exists()


def test_a_second_release_is_known_under_another_site_and_by_other_metrics(tmp_path: Path) -> None:
    rows = frames("north", 1.2, 3)
    more = pl.concat([rows, rows.filter(pl.col("video") == "n0").tail(1).with_columns(frame=pl.lit(999, pl.Int64))])

    def give(table: pl.DataFrame, name: str, site: str, metrics: list[str], model: str = "a") -> Path:
        asked = {"model": model, "share": True, "metrics": metrics, "classes": ["a", "b", "c"]}
        made = surgvalid.evaluate("classification", table, **asked)
        return surgvalid.share(made, tmp_path / name, site=site, cell_size=5)

    give(rows, "first.parquet", "north", ["accuracy"])
    with pytest.raises(Misuse, match=r"1 videos \(first: elsewhere-.*\) have other cases than in first.parquet"):
        give(more, "second.parquet", "elsewhere", ["accuracy"])
    turned = rows.with_row_index().with_columns(
        prediction=pl.when(pl.col("index") == 0).then("reference").otherwise(pl.col("prediction"))
    )
    if turned["prediction"][0] == rows["prediction"][0]:
        turned = turned.with_columns(prediction=pl.when(pl.col("index") == 0).then(pl.lit("b")).otherwise("prediction"))
    with pytest.raises(Misuse, match="or other metrics or counts"):
        give(turned.drop("index"), "third.parquet", "north", ["macro_f1"])
    assert give(rows, "fourth.parquet", "elsewhere", ["accuracy"]).exists()
    assert give(rows, "fifth.parquet", "north", ["macro_f1"], "b").exists()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_no_small_reference_follows_from_the_files_of_several_models(seed: int, cell: int) -> None:
    """References are the same for every model: groups that cross told of single videos, 12 of 720 in six hospitals.

    Exact least and greatest number of every class in every video, by linear programming over all files together; a
    fourth file has two videos more, which need to do without the others.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.choice([0, 2, 9, 30], size=(14, 3), p=[0.2, 0.15, 0.25, 0.4]) + np.array([40, 25, 0])
    one = surgvalid.evaluate("classification", frames("north", 1.0, 1).head(240), share=True, **ASKED).shareable
    assert one is not None
    recipe, held = one.statistics["macro_f1"]
    sums: list[np.ndarray] = []
    members: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for model, videos in (("a", 12), ("b", 12), ("c", 12), ("d", 14)):
            names, hits = (
                tuple(f"v{place}" for place in range(videos)),
                rng.binomial(sizes[:videos], rng.uniform(0.5, 1)),
            )
            missed = sizes[:videos] - hits
            wrong = np.roll(missed, 1, axis=1)
            rest = sizes[:videos].sum(axis=1, keepdims=True) - hits - missed - wrong
            units = [{"statistics": unit} for unit in np.stack([hits, wrong, missed, rest], axis=2).astype(float)]
            cases = tuple(int(every) for every in sizes[:videos].sum(axis=1))
            packed = held.packed._replace(units=units)
            kept = {"macro_f1": (recipe, held._replace(videos=names, packed=packed, cases=cases))}
            given_ = Shareable(kept, {}, dict(zip(names, cases, strict=True)), {**one.head, "model": model})
            asked = {"site": "s", "minimum_cases": 1, "cell_size": cell}
            try:
                path = surgvalid.share(SimpleNamespace(shareable=given_), Path(folder) / f"{model}.parquet", **asked)
            except Misuse:
                continue
            read = read_shared(path)
            for row in read.statistics.frame.to_dicts():
                numbers = np.array(row["numbers"]).reshape(row["shape"])
                sums.append(numbers[:, 0] + numbers[:, 2])
                members.append(read.head["members"].get(row["video"], [row["video"]]))
    known = sorted({video for group in members for video in group})
    share = np.array([[float(video in group) for video in known] for group in members])
    for goal in np.stack(sums, axis=1) if sums else ():
        for cost in np.eye(len(known)):
            least, most = (sign * linprog(sign * cost, A_eq=share, b_eq=goal).fun for sign in (1, -1))
            assert not (least > 0.5 and most < cell - 0.5)


def test_a_model_that_lacks_a_video_of_an_earlier_sum_is_not_shared(tmp_path: Path) -> None:
    rows = good_models("n", 0.08, 3)
    asked = {"share": True, "metrics": ["accuracy"], "classes": ["a", "b", "c"]}

    def give(model: str, table: pl.DataFrame) -> Path:
        made = surgvalid.evaluate("classification", table, model=model, **asked)
        return surgvalid.share(made, tmp_path / f"{model}.parquet", site="n", cell_size=16)

    members = read_shared(give("a", rows)).head["members"].values()
    assert sum(map(len, members)) == 8, "no video is alone"
    with pytest.raises(
        Misuse, match=r"/b\.parquet: .* 1 of which are not here, so that both files together would tell of those alone"
    ):
        give("b", rows.filter(pl.col("video") != "n3"))
    assert give("c", rows).exists()


def test_another_model_with_a_case_less_would_tell_of_that_case(tmp_path: Path) -> None:
    """What b has less than a in the counts of classes is the class of the frame that is not there."""
    rows = frames("north", 1.2, 3)
    asked = {"share": True, "metrics": ["macro_f1"], "classes": ["a", "b", "c"]}

    def give(model: str, table: pl.DataFrame) -> Path:
        made = surgvalid.evaluate("classification", table, model=model, **asked)
        return surgvalid.share(made, tmp_path / f"{model}.parquet", site="north")

    give("a", rows)
    with pytest.raises(Misuse, match=r"--share \S+/b\.parquet: 1 videos .* have other cases than in a\.parquet of 20"):
        give("b", rows.with_row_index().filter(pl.col("index") != 7).drop("index"))
    assert give("c", rows).exists()


def good_models(site: str, errors: float, seed: int) -> pl.DataFrame:
    """Eight videos of 40 frames, of which a good model gets few wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for video in range(8):
        for frame in range(40):
            truth = "abc"[rng.integers(3)]
            wrong = rng.random() < errors * (0.2 + 0.2 * video)
            guess = "abc"[("abc".index(truth) + 1) % 3] if wrong else truth
            rows.append({"video": f"{site}{video}", "frame": frame, "reference": truth, "prediction": guess})
    return pl.DataFrame(rows)


def test_values_over_sites_are_those_of_all_videos_of_good_models_too(tmp_path: Path) -> None:
    """Videos with one to four errors used to stay, which left the worst of the better model."""
    raw = {}
    for seed, (model, errors) in enumerate((("better", 0.08), ("worse", 0.13))):
        for site in ("north", "south"):
            rows = good_models(site, errors, 10 * seed + len(site) + (site == "north"))
            raw.setdefault(model, []).append(rows)
            made = surgvalid.evaluate("classification", rows, model=model, share=True, metrics=["accuracy"],
                                      classes=["a", "b", "c"])  # fmt: skip
            (tmp_path / site).mkdir(exist_ok=True)
            surgvalid.share(made, tmp_path / site / f"{model}.parquet", site=site)
    result = surgvalid.combine(sorted(tmp_path.rglob("*.parquet")))
    right = {model: pl.concat(rows).select((pl.col("reference") == pl.col("prediction")).mean()).item()
             for model, rows in raw.items()}  # fmt: skip
    assert dict(result.table.select("model", "value").rows()) == pytest.approx(right, abs=1e-12)
    row = result.tables["comparisons"].row(0, named=True)
    assert row["difference"] == pytest.approx(right["better"] - right["worse"], abs=1e-12)
    sites = result.tables["sites"]
    assert sites["left_out"].to_list() == [0] * 4
    assert (sites["groups"] < sites["videos"]).any()
    assert any("left as sums of several" in one.message for one in result.findings)
    for path in tmp_path.rglob("*.parquet"):
        numbers = pl.read_parquet(path)["numbers"].to_list()
        assert not [count for right, cases in numbers for count in (right, cases - right) if 0 < count < 5]


def test_a_table_is_no_file_that_a_site_shared_and_is_told_which_verbs_read_it(tmp_path: Path) -> None:
    table = tmp_path / "dice.csv"
    table.write_text("patient,A,B\n1,.8,.7\n2,.7,.6\n")
    with pytest.raises(Misuse, match=r"score tables .* are read together by surgvalid study, compare and rank"):
        surgvalid.combine([table])
