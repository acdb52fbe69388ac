"""What sites share gives what their raw data together would give: every metric that sums per video can carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import surgvalid
from metric_examples import all_examples
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.measure import EvaluationMaterial, Measured, MeasureJob, MeasureSettings, measure
from surgvalid.evaluation.run import score_table_of
from surgvalid.evaluation.sharing import Shareable, SharedFile, pseudonyms, read_shared, shared_file
from surgvalid.metrics import METRICS, open_metric
from surgvalid.schema.tables.score_table import ScoreTable, read_score_table
from surgvalid.stats.comparing.comparison import compare

EXAMPLES = all_examples()
VIDEOS = tuple(f"v{place}" for place in range(9))
SITES = {"north": VIDEOS[:4], "south": VIDEOS[4:]}
CASES = {video: 12 + 3 * place for place, video in enumerate(VIDEOS)}
ORDERED = set(
    """classwise_ece clinical_ap coco_ap coco_ap50 coco_ar coco_mask_ap ece ece_equal_mass f1_max f1_max_global
    latency_p50_s latency_p95_s latency_p99_s macro_auroc max_calibration_error mean_ap micro_ap micro_auroc
    rms_calibration_error transition_delay_p50_s transition_delay_p95_s triplet_map_i triplet_map_it triplet_map_iv
    triplet_map_ivt triplet_map_ivt_ivtmetrics-0.1.5 triplet_map_t triplet_map_v weighted_ap weighted_auroc
    weighted_coco_ap""".split()
)
"""Metrics whose value depends on the order of all scores: sums per video cannot carry them."""
NUMBERS = ["value", "low", "high", "sd", "df", "effective_videos"]
COMPARED = ["difference", "low", "high", "p_value", "sd", "df"]


class Pooled(NamedTuple):
    """What two sites shared of two models, pooled, and the raw data of both."""

    result: surgvalid.SitesResult
    whole: dict[str, Any]
    raw: ScoreTable


def units(name: str, model: str) -> dict:
    rng, example = np.random.default_rng(11), EXAMPLES[name]
    return {v: (example.random if model == "poor" or n % 3 else example.perfect)(rng) for n, v in enumerate(VIDEOS)}


def job(name: str, model: str, videos: tuple[str, ...]) -> MeasureJob:
    example, given = EXAMPLES[name], units(name, model)
    return MeasureJob(name, open_metric(name, **example.options), example.cases([given[video] for video in videos]))


def measured(
    model: str, videos: tuple[str, ...], *, share: bool, metrics: Sequence[str] = tuple(METRICS), cases: Mapping = CASES
) -> tuple[EvaluationMaterial, Measured]:
    jobs = tuple(job(name, model, videos) for name in metrics)
    material = EvaluationMaterial(videos, 9, jobs, sizes={video: cases[video] for video in videos})
    return material, measure(material, MeasureSettings(), lambda _: None, share=share)


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    folder, files, whole, places = tmp_path_factory.mktemp("sites"), [], {}, []
    for model in ("poor", "fine"):
        for site, videos in SITES.items():
            _, made = measured(model, videos, share=True)
            assert set(made.unshared) == ORDERED
            head = {"kind": "any", "model": model, "level": 0.95, "conventions": {}}
            given = Shareable(made.shared, made.unshared, {video: CASES[video] for video in videos}, head)
            (folder / site).mkdir(exist_ok=True)
            files.append(folder / site / f"{model}.parquet")
            written(given, files[-1], site=site, minimum_cases=1, cell_size=1)
        material, made = measured(model, VIDEOS, share=False)
        whole[model] = {row["metric"]: row for row in made.metrics.to_dicts()}
        places.append(folder / model)
        places[-1].mkdir()
        score_table_of(material, made, model, ()).to_dir(places[-1])
    return Pooled(surgvalid.combine(files), whole, read_score_table(places))


@pytest.mark.parametrize("name", sorted(set(METRICS) - ORDERED))
def test_pooled_sites_are_pooled_raw_data(name: str, pooled: Pooled) -> None:
    for model in ("poor", "fine"):
        row = pooled.result.table.filter((pl.col("model") == model) & (pl.col("metric") == name)).row(0, named=True)
        whole = pooled.whole[model][name]
        assert [row[key] for key in NUMBERS] == pytest.approx([whole[key] for key in NUMBERS], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", sorted(set(METRICS) - ORDERED))
def test_models_compared_over_sites_are_compared_on_raw_data(name: str, pooled: Pooled) -> None:
    rows = pooled.raw.frame.filter(pl.col("metric") == name)
    if not open_metric(name, **EXAMPLES[name].options).facts.pooled or rows.height < 2 * len(VIDEOS):
        return  # raw scores of cases are compared below; a metric without a value in a video has no raw row there
    ours = pooled.result.tables["comparisons"].filter(pl.col("metric") == name).row(0, named=True)
    raw = compare(pooled.raw, "poor", "fine", metric=name).table.row(0, named=True)
    assert [ours[key] for key in COMPARED] == pytest.approx([raw[key] for key in COMPARED], abs=1e-12, nan_ok=True)


def test_metrics_that_depend_on_the_order_of_all_scores_are_named(pooled: Pooled) -> None:
    named = [one.message for one in pooled.result.findings if one.code == "metric-not-shared"]
    assert {message.split("'")[1] for message in named} == ORDERED
    assert not set(pooled.result.table["metric"]) & ORDERED


def table(seed: int = 0, videos: tuple[str, ...] = VIDEOS) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for video in VIDEOS:
        for frame in range(15 + 3 * VIDEOS.index(video)):
            truth = "abc"[rng.integers(3)]
            guess = truth if rng.random() < 0.7 else "abc"[rng.integers(3)]
            rows.append({"video": video, "frame": frame, "reference": truth, "prediction": guess})
    return pl.DataFrame(rows).filter(pl.col("video").is_in(videos))


ASKED = {"metrics": ["accuracy", "macro_f1"], "classes": ["a", "b", "c"]}


def site_files(folder: Path, minimum: int = 1, **options) -> list[Path]:
    files = []
    for site, videos in SITES.items():
        (folder / site).mkdir(exist_ok=True)
        for seed, model in enumerate(("one", "two")):
            result = surgvalid.evaluate(
                "classification", table(seed, videos), model=model, share=True, **{**ASKED, **options}
            )
            files.append(
                surgvalid.share(
                    result, folder / site / f"{model}.parquet", site=site, minimum_cases=minimum, cell_size=1
                )
            )
    return files


def test_case_means_are_compared_over_sites_as_in_the_raw_data(tmp_path: Path) -> None:
    pooled = surgvalid.combine(site_files(tmp_path))
    folders = [
        surgvalid.evaluate("classification", table(seed), model=model, **ASKED).to_dir(tmp_path / f"raw {model}")
        for seed, model in enumerate(("one", "two"))
    ]
    for metric in ASKED["metrics"]:
        raw = compare(folders, "one", "two", metric=metric).table.row(0, named=True)
        ours = pooled.tables["comparisons"].filter(pl.col("metric") == metric).row(0, named=True)
        for key in ("difference", "low", "high", "p_value", "sd", "df", "favours", "videos_won"):
            assert ours[key] == (pytest.approx(raw[key], abs=1e-12) if isinstance(raw[key], float) else raw[key])


def test_only_sums_leave_and_no_name_of_a_video(tmp_path: Path) -> None:
    [file, *_] = site_files(tmp_path)
    content = file.read_bytes() + file.with_suffix(".html").read_bytes()
    assert not [video for video in VIDEOS if f'"{video}"'.encode() in content or f">{video}<".encode() in content]
    frame = read_shared(file).statistics.frame
    assert frame["video"].str.starts_with("north-").all()
    assert frame["video"].is_not_null().all()
    assert "What leaves this hospital" in file.with_suffix(".html").read_text()
    key = file.parent / "surgvalid-share.key"
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text().strip() not in content.decode(errors="ignore")


def test_names_depend_on_the_key_and_pair_the_models_of_a_site(tmp_path: Path) -> None:
    files = site_files(tmp_path)
    assert set(read_shared(files[0]).statistics.frame["video"]) == set(read_shared(files[1]).statistics.frame["video"])
    assert pseudonyms(["v1"], "s", b"a") != pseudonyms(["v1"], "s", b"b") != pseudonyms(["v1"], "t", b"b")


def test_videos_with_few_cases_stay_and_that_is_said(tmp_path: Path) -> None:
    result = surgvalid.combine(site_files(tmp_path, minimum=20))
    assert result.tables["sites"]["left_out"].to_list() == [2, 2, 0, 0]
    assert "videos-not-shared" in [one.code for one in result.findings]
    one = surgvalid.evaluate("classification", table(), share=True, **ASKED)
    with pytest.raises(Misuse, match="no video has 1000 cases"):
        surgvalid.share(one, tmp_path / "x.parquet", site="s", minimum_cases=1000)


def test_files_that_do_not_belong_together_are_refused_with_every_problem(tmp_path: Path) -> None:
    files = site_files(tmp_path)
    (tmp_path / "other").mkdir()
    result = surgvalid.evaluate("classification", table(), model="one", share=True, level=0.9, metrics=["macro_f1"],
                               classes=["a", "b", "c", "d"])  # fmt: skip
    odd = surgvalid.share(result, tmp_path / "other" / "odd.parquet", site="north", cell_size=1)
    with pytest.raises(InputInvalid) as caught:
        surgvalid.combine([*files, odd])
    assert [word in str(caught.value) for word in ("level is 0.9", "classes is", "of site 'north' is in")] == [True] * 3
    with pytest.raises(Misuse, match="not both"):
        surgvalid.combine([files[0], tmp_path])
    with pytest.raises(Misuse, match="kept nothing to share"):
        surgvalid.share(surgvalid.evaluate("classification", table(), **ASKED), tmp_path / "y.parquet", site="s")


def written(*given: Any, **limits: Any) -> SharedFile:
    shared = shared_file(*given, **limits)
    shared.write()
    return shared


def test_models_are_not_paired_where_they_were_scored_on_other_cases(tmp_path: Path) -> None:
    files, name = [], "macro_f1"
    for model, fewer in (("poor", 0), ("fine", 7)):
        cases = {**CASES, "v2": CASES["v2"] - fewer}
        _, made = measured(model, VIDEOS, share=True, metrics=[name], cases=cases)
        head = {"kind": "any", "model": model, "level": 0.95, "conventions": {}}
        files.append(tmp_path / f"{model}.parquet")
        written(
            Shareable(made.shared, made.unshared, cases, head), files[-1], site="north", minimum_cases=1, cell_size=1
        )
    result = surgvalid.combine(files)
    assert result.tables["comparisons"]["videos"].to_list() == [len(VIDEOS) - 1]
    (said,) = (one.text for one in result.findings if one.code == "sites-not-compared")
    assert "1 of 9 videos are left out of the comparison: the models were not scored on the same cases there" in said


@pytest.mark.parametrize("cell", [2, 5, 11])
def test_no_count_below_the_cell_size_leaves(cell: int, tmp_path: Path) -> None:
    """Of every metric that sums and counts: what leaves holds no small count, in one partition of all videos."""
    _, made = measured("poor", VIDEOS, share=True)
    head = {"kind": "any", "model": "poor", "level": 0.95, "conventions": {}}
    given = Shareable(made.shared, made.unshared, dict(CASES), head)
    shared = written(given, tmp_path / "x.parquet", site="north", minimum_cases=1, cell_size=cell)
    left = shared.statistics.frame.filter(pl.col("metric").is_in(list(COUNTED)))
    numbers = left["numbers"].explode().to_numpy()
    assert not ((numbers > 0) & (numbers < cell) & (numbers == np.round(numbers))).any()
    withheld = shared.head["withheld"]
    for name in COUNTED:
        rows = left.filter(pl.col("metric") == name)["video"].n_unique()
        assert (rows > 0) != (name in withheld)
        assert rows in (0, shared.head["groups"])
    members = shared.head["members"].values()
    assert sum(map(len, members)) + shared.head["groups"] - len(members) == len(VIDEOS)


COUNTED = {name for name in METRICS if name not in ORDERED and open_metric(name, **EXAMPLES[name].options).facts.pooled
           and not name.startswith(("phase_", "triplet_"))}  # fmt: skip
"""Metrics whose statistics are sums and counts; those of phases and triplets mark which classes a video has."""


def test_what_was_put_together_is_said_and_pools_as_raw_data(tmp_path: Path) -> None:
    rng, files, kept = np.random.default_rng(4), [], []
    for site, videos in SITES.items():
        rows = []
        for video in videos:
            for frame in range(200):
                truth = "a" if video == "v0" and frame > 2 else "ab"[rng.integers(2)] if video != "v0" else "b"
                rows.append({"video": video, "frame": frame, "reference": truth, "prediction": "ab"[rng.integers(2)]})
        one = surgvalid.evaluate("classification", pl.DataFrame(rows), model="m", share=True, classes=["a", "b"],
                                 metrics=["accuracy", "macro_f1"])  # fmt: skip
        files.append(surgvalid.share(one, tmp_path / f"{site}.parquet", site=site))
        kept.append(pl.DataFrame(rows))
    head = read_shared(files[0]).head
    assert head["withheld"] == {}
    assert (head["groups"], head["videos"]) == (3, 4)
    assert "4 videos as 3" in files[0].with_suffix(".html").read_text()
    pooled = surgvalid.combine(files)
    assert any("m in north: 4 videos as 3" in one.text for one in pooled.findings)
    for metric in ("accuracy", "macro_f1"):
        raw = surgvalid.evaluate("classification", pl.concat(kept), classes=["a", "b"], metrics=[metric])
        whole = raw.value(metric)
        assert pooled.table.filter(metric=metric)["value"].item() == pytest.approx(whole, abs=1e-12)


def test_models_scored_on_other_cases_are_not_paired(tmp_path: Path) -> None:
    files = []
    for seed, model in enumerate(("one", "two")):
        frames = table(seed).with_columns(pl.col("frame") + 1000 * (pl.col("video") == "v3") * seed)
        result = surgvalid.evaluate("classification", frames, model=model, share=True, **ASKED)
        files.append(surgvalid.share(result, tmp_path / f"{model}.parquet", site="s", minimum_cases=1, cell_size=1))
    pooled = surgvalid.combine(files)
    assert set(pooled.tables["comparisons"]["videos"]) == {len(VIDEOS) - 1}
    assert any("not scored on the same cases" in one.text for one in pooled.findings)
