"""What sites share gives what their raw data together would give: every metric that sums per video can carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import surgeval
from metric_examples import all_examples
from surgeval.errors import InputInvalid, Misuse
from surgeval.metrics import METRICS, open_metric
from surgeval.schema.score_table import ScoreTable, read_score_table
from surgeval.scoring.evaluate.measure import Job, Material, Measured, Settings, measure
from surgeval.scoring.evaluate.run import score_table_of
from surgeval.scoring.evaluate.sharing import Shareable, pseudonyms, read_shared, write_shared
from surgeval.stats.comparison import compare

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

    result: surgeval.SitesResult
    whole: dict[str, Any]
    raw: ScoreTable


def units(name: str, model: str) -> dict:
    rng, example = np.random.default_rng(11), EXAMPLES[name]
    return {v: (example.random if model == "poor" or n % 3 else example.perfect)(rng) for n, v in enumerate(VIDEOS)}


def job(name: str, model: str, videos: tuple[str, ...]) -> Job:
    example, given = EXAMPLES[name], units(name, model)
    return Job(name, open_metric(name, **example.options), example.cases([given[video] for video in videos]))


def measured(model: str, videos: tuple[str, ...], *, share: bool) -> tuple[Material, Measured]:
    jobs = tuple(job(name, model, videos) for name in METRICS)
    material = Material(videos, 9, jobs, sizes={video: CASES[video] for video in videos})
    return material, measure(material, Settings(), lambda _: None, share=share)


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
            write_shared(given, files[-1], site=site, minimum_cases=1)
        material, made = measured(model, VIDEOS, share=False)
        whole[model] = {row["metric"]: row for row in made.metrics.to_dicts()}
        places.append(folder / model)
        places[-1].mkdir()
        score_table_of(material, made, model, ()).to_dir(places[-1])
    return Pooled(surgeval.combine(files), whole, read_score_table(places))


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
            result = surgeval.evaluate(
                "classification", table(seed, videos), model=model, share=True, **{**ASKED, **options}
            )
            files.append(surgeval.share(result, folder / site / f"{model}.parquet", site=site, minimum_cases=minimum))
    return files


def test_case_means_are_compared_over_sites_as_in_the_raw_data(tmp_path: Path) -> None:
    pooled = surgeval.combine(site_files(tmp_path))
    folders = [
        surgeval.evaluate("classification", table(seed), model=model, **ASKED).to_dir(tmp_path / f"raw {model}")
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
    key = file.parent / "surgeval-share.key"
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text().strip() not in content.decode(errors="ignore")


def test_names_depend_on_the_key_and_pair_the_models_of_a_site(tmp_path: Path) -> None:
    files = site_files(tmp_path)
    assert set(read_shared(files[0]).statistics.frame["video"]) == set(read_shared(files[1]).statistics.frame["video"])
    assert pseudonyms(["v1"], "s", b"a") != pseudonyms(["v1"], "s", b"b") != pseudonyms(["v1"], "t", b"b")


def test_videos_with_few_cases_stay_and_that_is_said(tmp_path: Path) -> None:
    result = surgeval.combine(site_files(tmp_path, minimum=20))
    assert result.tables["sites"]["left_out"].to_list() == [2, 2, 0, 0]
    assert "videos-not-shared" in [one.code for one in result.findings]
    one = surgeval.evaluate("classification", table(), share=True, **ASKED)
    with pytest.raises(Misuse, match="no video has 1000 cases"):
        surgeval.share(one, tmp_path / "x.parquet", site="s", minimum_cases=1000)


def test_files_that_do_not_belong_together_are_refused_with_every_problem(tmp_path: Path) -> None:
    files = site_files(tmp_path)
    (tmp_path / "other").mkdir()
    result = surgeval.evaluate("classification", table(), model="one", share=True, level=0.9, metrics=["macro_f1"],
                               classes=["a", "b", "c", "d"])  # fmt: skip
    odd = surgeval.share(result, tmp_path / "other" / "odd.parquet", site="north")
    with pytest.raises(InputInvalid) as caught:
        surgeval.combine([*files, odd])
    assert [word in str(caught.value) for word in ("level is 0.9", "classes is", "of site 'north' is in")] == [True] * 3
    with pytest.raises(Misuse, match="not both"):
        surgeval.combine([files[0], tmp_path])
    with pytest.raises(Misuse, match="kept nothing to share"):
        surgeval.share(surgeval.evaluate("classification", table(), **ASKED), tmp_path / "y.parquet", site="s")
