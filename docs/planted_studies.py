"""Simulated studies for audits: a sound one, and for every pitfall its twin with one planted fault.

Only tables are simulated, no video files: phases of procedures, three models that recognise them moment by moment,
three raters, splits, reported numbers, and every answer. And outlines of organs in patients with one or two videos,
scored by Dice and printed as papers do: under other names, in percent, with intervals of other methods.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, stdtrit

from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.intervals.interval import interval

PHASES = ("access", "dissection", "clipping", "removal", "closure")
MODELS = {"steady": 0.86, "middling": 0.78, "weak": 0.66}
CENTERS = ("A", "B", "C", "D")
FACTS = {"accuracy": MetricFacts("accuracy", conventions={"absent phases": "left out"})}
RATERS = ("one", "two", "three")


def clean_study(seed: int = 0, *, videos: int = 14, moments: int = 60) -> AuditedStudy:
    """A sound study: every check passes, or would with probability 0.99."""
    rng = np.random.default_rng([seed, 20])
    frames, segments = [], []
    for number in range(videos):
        ends = np.sort(rng.choice(np.arange(5, moments - 4), len(PHASES) - 1, replace=False))
        reference = np.searchsorted(ends, np.arange(moments), side="right")
        center, device = str(rng.choice(CENTERS)), str(rng.choice(["x", "y"]))
        ease = rng.normal(0, 0.06)
        for model, skill in MODELS.items():
            prediction = _predicted(rng, reference, np.clip(skill + ease + rng.normal(0, 0.02), 0.3, 0.98))
            frames.append(_frame_rows(f"v{number:02d}", model, reference, prediction, center, device))
        segments += [row for rater in RATERS for row in _segment_rows(rng, f"v{number:02d}", rater, ends, moments, 1.0)]
    return _study(pl.concat(frames), pl.DataFrame(segments))


def _predicted(rng: np.random.Generator, reference: np.ndarray, skill: float) -> np.ndarray:
    """Predictions with errors in stretches of four moments, as models make them."""
    stretch = np.repeat(rng.random(len(reference) // 4 + 1) < skill, 4)[: len(reference)]
    other = (reference + np.repeat(rng.integers(1, len(PHASES), len(reference) // 4 + 1), 4)[: len(reference)]) % len(
        PHASES
    )
    return np.asarray(np.where(stretch, reference, other))


def _frame_rows(
    video: str, model: str, reference: np.ndarray, prediction: np.ndarray, center: str, device: str
) -> pl.DataFrame:
    return pl.DataFrame(
        {"model": model, "video": video, "time_s": np.arange(len(reference), dtype=float),
         "reference": np.array(PHASES)[reference], "prediction": np.array(PHASES)[prediction],
         "center": center, "device": device}
    )  # fmt: skip


def _segment_rows(
    rng: np.random.Generator, video: str, rater: str, ends: np.ndarray, moments: int, jitter_s: float
) -> list[dict[str, Any]]:
    """The phases as one rater marks them."""
    marks = np.sort(np.clip(ends + rng.normal(0, jitter_s, len(ends)), 1, moments - 1))
    edges = np.concatenate([[0.0], marks, [float(moments)]])
    return [
        {
            "video": video,
            "rater": rater,
            "label": phase,
            "start_s": float(edges[place]),
            "end_s": float(edges[place + 1]),
        }
        for place, phase in enumerate(PHASES)
    ]


def _study(frames: pl.DataFrame, segments: pl.DataFrame) -> AuditedStudy:
    scores = scores_of(frames)
    test = frames["video"].unique().sort().to_list()
    splits = pl.DataFrame(
        [{"split": "train", "video": f"t{n:02d}", "patient": f"q{n:02d}"} for n in range(20)]
        + [{"split": "test", "video": video, "patient": f"p{video}"} for video in test]
    )
    return AuditedStudy(
        "sound", scores, None, "accuracy", stored=(),
        tables={"cases": cases_of(frames), "splits": splits, "segments": segments, "frames": frames,
                "reported": reported_of(scores)},
        conventions={"accuracy": {"absent phases": "left out"}, "segment_edit": {"idle": "none"}},
        answers={
            "target": {"center": dict.fromkeys(CENTERS, 0.25)}, "exclusions": "none were left out",
            "sparsity": "all moments are annotated", "protocol": "protocol 2, residents", "tuned_on": "validation",
            "requirements": [{"requirement": "phases are told apart", "metric": "accuracy"}],
            "tolerance": 5.0, "tolerance_source": "raters", "hyperparameters": "no threshold but the tolerance",
            "conventions": "stated", "intervals": "videos", "aggregation": "mean over moments",
            "critical_phases": ["clipping"], "threshold": 0.7,
            "claims": [{"better": "steady", "than": "weak"}], "ethics": "approved", "funding": "public",
            "bias": "four centres", "availability": "code public",
        },
    )  # fmt: skip


def scores_of(frames: pl.DataFrame) -> ScoreTable:
    """One score per model and moment: whether the phase is right."""
    rows = frames.drop_nulls("reference").select(
        "model", "video", case=pl.col("video") + "@" + pl.col("time_s").cast(pl.Int64).cast(pl.String),
        value=(pl.col("reference") == pl.col("prediction")).cast(pl.Float64), metric=pl.lit("accuracy"),
        phase="reference", center="center",
    )  # fmt: skip
    return ScoreTable.of(rows, facts=FACTS)


def cases_of(frames: pl.DataFrame) -> pl.DataFrame:
    """One row per moment: video, reference and what the recording is."""
    rows = frames.unique(subset=["video", "time_s"], maintain_order=True)
    case = pl.col("video") + "@" + pl.col("time_s").cast(pl.Int64).cast(pl.String)
    return rows.select("video", "reference", "center", "device", case=case)


def reported_of(scores: ScoreTable) -> pl.DataFrame:
    """The numbers that the study prints, with their intervals over videos."""
    return interval(scores).table.select("model", "metric", "value", "low", "high")


# --- one planted fault each --------------------------------------------------------------------------------------


def _with(study: AuditedStudy, **tables: pl.DataFrame) -> AuditedStudy:
    return replace(study, tables={**study.tables, **tables})


def _answered(study: AuditedStudy, **answers: Any) -> AuditedStudy:
    return replace(study, answers={**study.answers, **answers})


def _reframed(study: AuditedStudy, frames: pl.DataFrame) -> AuditedStudy:
    scores = scores_of(frames)
    return replace(
        study, scores=scores,
        tables={**study.tables, "frames": frames, "cases": cases_of(frames), "reported": reported_of(scores)},
    )  # fmt: skip


def one_center(study: AuditedStudy) -> AuditedStudy:
    """Every video is from one of four centres."""
    return _reframed(study, study.tables["frames"].with_columns(center=pl.lit("A")))


def four_videos(study: AuditedStudy) -> AuditedStudy:
    """Four videos are left."""
    kept = pl.col("video").is_in(["v00", "v01", "v02", "v03"])
    return _reframed(study, study.tables["frames"].filter(kept))


def telling_device(study: AuditedStudy) -> AuditedStudy:
    """The device tells the critical phase."""
    device = pl.when(pl.col("reference") == "clipping").then(pl.lit("y")).otherwise(pl.lit("x"))
    return _reframed(study, study.tables["frames"].with_columns(device=device))


def gaps(study: AuditedStudy) -> AuditedStudy:
    """Every seventh moment has no reference."""
    gone = (pl.col("time_s") % 7 == 3).over("video")
    reference = pl.when(gone).then(None).otherwise(pl.col("reference"))
    return _with(study, frames=study.tables["frames"].with_columns(reference=reference))


def raters_apart(study: AuditedStudy) -> AuditedStudy:
    """Raters mark phases at random."""
    rng = np.random.default_rng(5)
    rows = study.tables["segments"]
    shuffled = rows.with_columns(label=pl.Series([PHASES[i] for i in rng.integers(0, len(PHASES), rows.height)]))
    return _with(study, segments=shuffled)


def video_in_both(study: AuditedStudy) -> AuditedStudy:
    """A test video is in the training set."""
    extra = pl.DataFrame([{"split": "train", "video": "v03", "patient": "pv03"}])
    return _with(study, splits=pl.concat([study.tables["splits"], extra]))


def need_without_metric(study: AuditedStudy) -> AuditedStudy:
    """A clinical need has no reported metric."""
    needs = [{"requirement": "no bleeding is missed", "metric": "recall"}]
    return _answered(study, requirements=needs)


def no_metric_of_time(study: AuditedStudy) -> AuditedStudy:
    """No metric sees time."""
    return replace(study, conventions={"accuracy": {"absent phases": "left out"}})


def tight_tolerance(study: AuditedStudy) -> AuditedStudy:
    """Raters are further apart than the tolerance."""
    rng = np.random.default_rng(6)
    rows = study.tables["segments"].with_columns(
        start_s=pl.col("start_s") + pl.Series(rng.normal(0, 8, study.tables["segments"].height)).abs()
    )
    rows = rows.with_columns(end_s=pl.max_horizontal("end_s", pl.col("start_s") + 0.5))
    return _answered(_with(study, segments=rows), tolerance=0.5)


def right_at_key_frames(study: AuditedStudy) -> AuditedStudy:
    """Predictions are right at every fifth moment only."""
    key = pl.col("time_s") % 5 == 0
    frames = study.tables["frames"]
    prediction = pl.when(key).then(pl.col("reference")).otherwise(pl.lit("nothing"))
    return _reframed(study, frames.with_columns(prediction=prediction))


def metric_without_conventions(study: AuditedStudy) -> AuditedStudy:
    """One metric has no conventions."""
    return replace(study, conventions={**study.conventions, "relaxed_f1": {}})


def winner_by_tolerance(study: AuditedStudy) -> AuditedStudy:
    """`steady` errs anywhere, `middling` only beside transitions, and there often."""
    frames = study.tables["frames"].sort("model", "video", "time_s")
    change = (pl.col("reference") != pl.col("reference").shift(1)).over("model", "video")
    here = frames.with_columns(step=change.fill_null(False))
    near = pl.any_horizontal(pl.col("step").shift(by).over("model", "video").fill_null(False) for by in range(-3, 1))
    before = pl.col("reference").shift(4).over("model", "video").fill_null(pl.col("reference"))
    wrong = pl.when(pl.col("time_s") % 6 == 2).then(pl.lit("nothing")).otherwise(pl.col("reference"))
    late = (
        pl.when(near)
        .then(pl.coalesce(pl.col("reference").shift(-4).over("model", "video"), before))
        .otherwise(pl.col("reference"))
    )
    prediction = (
        pl.when(pl.col("model") == "steady").then(wrong)
        .when(pl.col("model") == "middling").then(late)
        .otherwise(pl.col("prediction"))
    )  # fmt: skip
    return _answered(
        _reframed(study, here.with_columns(prediction=prediction).drop("step")), tolerance=0, hyperparameters=""
    )


def one_large_class(study: AuditedStudy) -> AuditedStudy:
    """One class is nearly everything, and accuracy is all."""
    cases = study.tables["cases"]
    label = pl.when(pl.int_range(pl.len()) % 25 == 0).then(pl.lit("bleeding")).otherwise(pl.lit("none"))
    reported = study.tables["reported"]
    return replace(
        _with(study, cases=cases.with_columns(reference=label), reported=reported),
        conventions={"accuracy": {"absent phases": "left out"}},
    )  # fmt: skip


def frames_as_units(study: AuditedStudy) -> AuditedStudy:
    """Videos differ, and intervals took frames as units."""
    rng = np.random.default_rng(7)
    frames = study.tables["frames"]
    hard = {video: rng.random() < 0.4 for video in frames["video"].unique().sort()}
    spoilt = pl.col("video").replace_strict(hard, return_dtype=pl.Boolean) & (pl.col("time_s") % 5 != 0)
    prediction = pl.when(spoilt).then(pl.lit("nothing")).otherwise(pl.col("prediction"))
    return _answered(_reframed(study, frames.with_columns(prediction=prediction)), intervals="single frames")


def winner_in_long_phases(study: AuditedStudy) -> AuditedStudy:
    """`steady` is right in the longest phase of each video only, `middling` in all others."""
    frames = study.tables["frames"]
    size = pl.len().over("model", "video", "reference")
    longest = size == size.max().over("model", "video")
    prediction = (
        pl.when(pl.col("model") == "weak").then(pl.lit("nothing"))
        .when((pl.col("model") == "steady") == longest).then(pl.col("reference"))
        .otherwise(pl.lit("nothing"))
    )  # fmt: skip
    kept = frames.with_columns(prediction=prediction).filter(longest | (pl.col("time_s") % 3 == 0))
    return _reframed(study, kept)


def empty_claim(study: AuditedStudy) -> AuditedStudy:
    """A worse model is called better."""
    return _answered(study, claims=[{"better": "weak", "than": "steady"}])


def bare_numbers(study: AuditedStudy) -> AuditedStudy:
    """Numbers have no intervals."""
    return _with(
        study, reported=study.tables["reported"].with_columns(low=None, high=None).cast({"low": float, "high": float})
    )


def no_ethics(study: AuditedStudy) -> AuditedStudy:
    """There is no statement on ethics."""
    return _answered(study, ethics=False)


def patient_in_other_spelling(study: AuditedStudy) -> AuditedStudy:
    """A test patient is in the training set, written in another way."""
    extra = pl.DataFrame([{"split": "train", "video": "t99", "patient": "Patient V-003"}])
    splits = study.tables["splits"].with_columns(pl.col("patient").replace({"pv03": "pat_v03"}))
    return _with(study, splits=pl.concat([splits, extra]))


def narrow_intervals(study: AuditedStudy) -> AuditedStudy:
    """Printed intervals have half the width that single moments as units give."""
    half = (pl.col("high") - pl.col("low")) / 4
    naive = interval(study.scores, resample="naive").table
    return _with(
        study,
        reported=naive.select("model", "metric", "value", low=pl.col("value") - half, high=pl.col("value") + half),
    )


def eight_faults(study: AuditedStudy) -> AuditedStudy:
    """Eight faults at once, which an audit has to tell apart."""
    for plant in (
        one_center, telling_device, raters_apart, patient_in_other_spelling, need_without_metric,
        metric_without_conventions, narrow_intervals, empty_claim,
    ):  # fmt: skip
        study = plant(study)
    return study


EIGHT = ("P1.1", "P1.3", "P1.5", "P1.6", "P2.1", "P2.5", "P3.1", "P3.3")
"""The checks that must see them."""
PLANTED: dict[str, Callable[[AuditedStudy], AuditedStudy]] = {
    "P1.1": one_center,
    "P1.2": four_videos,
    "P1.3": telling_device,
    "P1.4": gaps,
    "P1.5": raters_apart,
    "P1.6": video_in_both,
    "P2.1": need_without_metric,
    "P2.2": no_metric_of_time,
    "P2.3": tight_tolerance,
    "P2.4": right_at_key_frames,
    "P2.5": metric_without_conventions,
    "P2.6": winner_by_tolerance,
    "P2.7": one_large_class,
    "P3.1": frames_as_units,
    "P3.2": winner_in_long_phases,
    "P3.3": empty_claim,
    "P3.4": bare_numbers,
    "P3.5": no_ethics,
}
"""By the code of a pitfall, what plants its fault into a sound study."""


# --- outlines of organs, printed as papers do ----------------------------------------------------------------------

NETWORKS = {"UNet": 0.80, "SegFormer": 0.85, "Mamba": 0.82}
HOSPITALS, ORGANS = ("north", "south", "west"), ("liver", "gallbladder", "duct")


def dice_study(seed: int = 0, *, faulty: bool = False) -> AuditedStudy:
    """A sound study of 10 to 40 patients, or one with the faults that `EIGHT` names."""
    rng = np.random.default_rng([seed, 4711])
    patients = [f"PAT{number:03d}" for number in range(1, int(rng.integers(11, 42)))]
    wanted = rng.dirichlet([8, 8, 8])
    homes = rng.choice(HOSPITALS, size=len(patients), p=[1, 0, 0] if faulty else wanted)
    images = pl.concat(_images(rng, patient, str(home)) for patient, home in zip(patients, homes, strict=True))
    if faulty:
        images = images.with_columns(device=pl.when(reference="duct").then(pl.lit("x")).otherwise(pl.lit("y")))
    scores = ScoreTable.of(
        images.unpivot(index=["case", "video", "patient"], on=[*NETWORKS], variable_name="model").select(
            "model", "case", "value", metric=pl.lit("dice"), video="patient", video_id="video"
        )
    )
    rated = pl.concat(
        images.select("video", unit="case", rater=pl.lit(name), label=_rated(rng, images["reference"], faulty))
        for name in ("one", "two")
    )
    tested = images.select("video", "patient", split=pl.lit("test")).unique(maintain_order=True)
    names = [("train", f"TRN{n:03d}") for n in range(60)] + [("val", f"VAL{n:03d}") for n in range(10)]
    names += [("train", str(rng.choice(["pat 3", "Pat-03", "patient_0003", "PAT003"])))] * faulty
    others = pl.DataFrame(names, schema=["split", "patient"], orient="row").with_columns(
        video=pl.col("patient") + "_v0"
    )
    return AuditedStudy(
        "outlines", scores, None, "dice",
        tables={"cases": images.drop(*NETWORKS), "ratings": rated, "reported": _in_print(rng, images, faulty),
                "splits": pl.concat([tested, others], how="diagonal")},
        conventions={"Dice": {"empty": "both empty: 1"}} | ({"nsd": {}} if faulty else {}),
        answers={
            "target": {"hospital": dict(zip(HOSPITALS, wanted.round(4).tolist(), strict=True))},
            "exclusions": "none were left out", "sparsity": "a frame every 10 s", "protocol": "two residents",
            "tuned_on": "validation split", "tolerance": 2, "tolerance_source": "raters",
            "requirements": [{"requirement": "organs are outlined", "metric": "recall" if faulty else "DSC"}],
            "hyperparameters": "no thresholds are used", "intervals": "patients", "aggregation": "mean over patients",
            "threshold": 0.8, "smallest_difference": 0.2, "ethics": "approved", "funding": "public",
            "bias": "three hospitals", "availability": "code", "claims": list(_claims(images, faulty)),
        },
    )  # fmt: skip


def _images(rng: np.random.Generator, patient: str, hospital: str) -> pl.DataFrame:
    """The frames of a patient in one or two videos, with the Dice of every network."""
    ease, device, videos = rng.normal(0, 0.4), str(rng.choice(["x", "y"])), []
    for video in range(int(rng.integers(1, 3))):
        count = int(rng.integers(6, 40))
        hard = rng.normal(0, 0.5, count)
        logits = {name: np.log(skill / (1 - skill)) + ease + rng.normal(0, 0.15) for name, skill in NETWORKS.items()}
        videos.append(pl.DataFrame(
            {"case": [f"{patient}_v{video}_{n:04d}" for n in range(count)], "video": f"{patient}_v{video}",
             "patient": patient, "hospital": hospital, "device": device,
             "reference": rng.choice(ORGANS, size=count, p=[0.4, 0.35, 0.25]).tolist()}
            | {name: expit(at + hard + rng.normal(0, 0.4, count)).round(4) for name, at in logits.items()}
        ))  # fmt: skip
    return pl.concat(videos)


def _rated(rng: np.random.Generator, labels: pl.Series, apart: bool) -> pl.Series:
    """What a rater sees: mostly the reference, or anything."""
    other = pl.Series(rng.choice(ORGANS, size=len(labels)).tolist())
    return labels.zip_with(pl.Series(rng.random(len(labels)) > (1 if apart else 0.04)), other)


def _in_print(rng: np.random.Generator, images: pl.DataFrame, narrow: bool) -> pl.DataFrame:
    """Means with intervals by Student's t or resampled patients, as shares or in percent, with few digits."""
    scale, digits = (100, int(rng.integers(1, 3))) if rng.random() < 0.4 else (1, int(rng.integers(2, 4)))
    rows, resampled = [], rng.random() < 0.5
    for name in NETWORKS:
        means = images.group_by("patient", maintain_order=True).agg(pl.col(name).mean())[name].to_numpy()
        drawn = means[rng.integers(0, len(means), (1000, len(means)))].mean(axis=1)
        half = stdtrit(len(means) - 1, 0.975) * means.std(ddof=1) / np.sqrt(len(means))
        low, high = np.quantile(drawn, (0.025, 0.975)) if resampled else (means.mean() - half, means.mean() + half)
        kept = rng.uniform(0.2, 0.5) if narrow else 1.0
        ends = (means.mean() + kept * (end - means.mean()) for end in (low, high))
        rows.append((name, "Dice", *(round(scale * float(number), digits) for number in (means.mean(), *ends))))
    return pl.DataFrame(rows, schema=["model", "metric", "value", "low", "high"], orient="row")


def _claims(images: pl.DataFrame, false: bool) -> Iterator[dict[str, str]]:
    """What a t test over patients shows at 1 %, or that the worst network is better than the best."""
    means = images.group_by("patient").agg(pl.col(*NETWORKS).mean())
    order = sorted(NETWORKS, key=lambda name: float(means[name].sum()))
    pairs = [(order[0], order[-1])] if false else [(b, a) for a, b in itertools.combinations(order, 2)]
    for better, than in pairs:
        gains = (means[better] - means[than]).to_numpy()
        t = gains.mean() / gains.std(ddof=1) * np.sqrt(len(gains))
        if false or t > stdtrit(len(gains) - 1, 0.995):
            yield {"better": better, "than": than}
