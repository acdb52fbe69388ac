"""How likely a model is to fail on a case, from the properties of the case: held out by video, calibrated, as weights.

A case's risk is its expected loss (1 - probability, 1 - score) under the failure model, over models and random effects.
For cases that the analysis has seen, the model is fitted without their videos: whole videos are held out in turn, so a
risk never rests on the video it is about. Predictions are then put right by a logistic recalibration (intercept and
slope; Cox 1958, Platt 1999), estimated for each held-out part on the others. A slope below zero counts as zero: where
properties do not tell hard cases from easy ones, all risks are equal, and so are the weights.

The decision a reader would question: slopes are estimated inside the held-out parts, with an intercept for each. When
hard videos are held out, the others are easier, so predictions of whole parts go against what is observed there; a
slope over all of them would be pulled below zero although the properties predict well.

Cases that the analysis has not seen, such as those of a training set, get the risk of the model of all videos, put
right by the recalibration of all held-out predictions. Weights are risks over their mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse, TableInvalid, TooFewVideos
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.intervals.video_jackknife import mean_interval
from surgvalid.stats.mixed.attributable import expected_loss, loss_of, observed_loss
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.logistic import LogisticFit, cluster_covariance, fit_logistic
from surgvalid.stats.mixed.fit.penalised import penalties, unbounded
from surgvalid.stats.mixed.fit.result import MixedFit, design_rows
from surgvalid.stats.mixed.model.design import design_of, factor_of
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.recommend import case_key, case_of, check_videos
from surgvalid.stats.mixed.report import Addition, FailuresResult

FEWEST_VIDEOS = 5
FOLDS = 5
"""Parts that are held out; fewer where a part would hold less than two videos."""
BINS = 10
_EDGE = 1e-3
"""Risks are held this far from 0 and 1, where a logit has no end."""


class Recalibration(NamedTuple):
    """What a predicted logit becomes: `intercept + slope * logit`."""

    intercept: float
    slope: float

    def of(self, risk: np.ndarray) -> np.ndarray:
        """Risks, put right."""
        return np.asarray(special.expit(self.intercept + self.slope * special.logit(risk)))


class _HeldOut(NamedTuple):
    """Cases that the analysis has seen: what was predicted without their videos, and what was observed."""

    cases: pl.DataFrame
    """Columns `case`, `video`, `fold`, `raw`, `risk`, `observed`, `constant`, one row per case."""
    folds: int


def risk_tables(result: FailuresResult, rows: pl.DataFrame, wanted: pl.DataFrame) -> Addition:
    """The tables `risk`, `calibration` and `calibration_bins`.

    Args:
        result: A failure analysis.
        rows: The rows that it was fitted to, with all columns of the table.
        wanted: The cases to weigh, with the properties of the analysis; cases that it has seen are held out.

    Raises:
        TooFewVideos: There are fewer than `FEWEST_VIDEOS` videos to hold out.
        Misuse: The outcome has no loss between 0 and 1.
        TableInvalid: The cases lack a property, or a name.
    """
    if result.fit.family not in ("binomial", "ordered-beta"):
        raise Misuse(
            f"risks lie between 0 and 1; those of a {result.fit.family} model do not (use a 0/1 outcome, "
            "counts of trials, or family ordered-beta)"
        )
    cases = _named_cases(result, rows, wanted)
    _check_same(result, rows, cases)
    held = _held_out(result, rows)
    every = _recalibration(held.cases)
    weighed = _weighed(result, cases, held, every)
    calibration = [_figures(held, stage, result.level) for stage in ("raw", "risk")]
    return Addition(
        tables={
            "risk": tables.RISK.frame(weighed),
            "calibration": tables.CALIBRATION.frame(calibration),
            "calibration_bins": tables.CALIBRATION_BINS.frame(list(_bins(held.cases, result.level))),
        },
        findings=tuple(_findings(weighed, calibration, every)),
        prose=_prose(held),
        screen={"Predicted risk, held out by video:": "calibration"},
    )


def _held_out(result: FailuresResult, rows: pl.DataFrame) -> _HeldOut:
    """Every case of the analysis with the risk that the other videos predict."""
    design, video = result.fit.design, check_videos(result, "risks are held out")
    group = factor_of(design.frame, video)
    if group.levels < FEWEST_VIDEOS:
        raise TooFewVideos(f"{group.levels} levels of {video}: too few to hold some out, {FEWEST_VIDEOS} are needed")
    folds = min(FOLDS, group.levels // 2)
    order = np.argsort(-np.bincount(group.codes), kind="stable")
    fold = np.empty(group.levels, dtype=np.int64)
    fold[order] = np.arange(group.levels) % folds
    fold_of_row, raw, constant = fold[group.codes], np.empty(design.rows), np.empty(design.rows)
    loss = observed_loss(result)
    for at in range(folds):
        out = fold_of_row == at
        fitted = _refitted(result, design.frame.filter(pl.Series(~out)))
        raw[out] = _predicted(result, fitted, design.frame.filter(pl.Series(out)), float(loss[~out].mean()))
        constant[out] = loss[~out].mean()
    cases = (
        pl.DataFrame(
            {
                "case": case_of(result, rows),
                "video": group.labels.gather(group.codes).cast(pl.String),
                "fold": fold_of_row,
                "raw": raw,
                "observed": loss,
                "constant": constant,
            }
        )
        .group_by("case", "video", "fold", maintain_order=True)
        .agg(pl.all().mean())
    )
    right = np.empty(cases.height)
    for at in range(folds):
        out = cases["fold"].to_numpy() == at
        right[out] = _recalibration(cases.filter(pl.Series(~out))).of(cases["raw"].to_numpy()[out])
    return _HeldOut(cases.with_columns(risk=pl.Series(right)), folds)


def _refitted(result: FailuresResult, frame: pl.DataFrame) -> MixedFit:
    """The model of the analysis, fitted to some of its rows."""
    design = design_of(frame, result.fit.design.model, where="the other videos", separation="keep")
    restricted = result.fit.method.endswith("reml")
    return fit(design, restricted=restricted, errors=False, penalty=penalties(design, unbounded(design)) or None)


def _predicted(result: FailuresResult, fitted: MixedFit, frame: pl.DataFrame, otherwise: float) -> np.ndarray:
    """The expected loss of rows by their properties alone; `otherwise` where a category is new."""
    known = np.ones(frame.height, dtype=bool)
    for term in fitted.design.model.fixed:
        for name in map(column_of, term.split(":")):
            seen = fitted.design.frame[name]
            if not (seen.dtype.is_numeric() or seen.dtype == pl.Boolean) or f"C({name})" in term:
                known &= frame[name].cast(pl.String).is_in(seen.cast(pl.String).unique().to_list()).to_numpy()
    value = np.full(frame.height, otherwise)
    if known.any():
        matrix = design_rows(fitted, frame.filter(pl.Series(known)))
        spread = np.full(len(matrix), np.sqrt(sum(group.sd**2 for group in fitted.groups if group.slope is None)))
        value[known] = expected_loss(fitted, matrix @ fitted.beta, spread, loss_of(result)).loss
    return np.asarray(np.clip(value, _EDGE, 1 - _EDGE))


def _logit_fit(cases: pl.DataFrame, stage: str) -> LogisticFit:
    """Observed losses regressed on the logit of predicted ones, as shares, with an intercept for each held-out part."""
    logit, fold = special.logit(np.clip(cases[stage].to_numpy(), _EDGE, 1 - _EDGE)), cases["fold"].to_numpy()
    folds = np.unique(fold)
    columns = np.column_stack([*((fold == one).astype(np.float64) for one in folds), logit])
    names = [*(f"fold {one}" for one in folds), "slope"]
    return fit_logistic(columns, cases["observed"].to_numpy(), names, trials=np.ones(cases.height))


def _recalibration(cases: pl.DataFrame) -> Recalibration:
    """The slope inside parts, and the intercept with which risks are right on average."""
    fitted, observed = _logit_fit(cases, "raw"), cases["observed"].to_numpy()
    known = "slope" in fitted.names and fitted.converged and fitted.coefficients[-1] > 0
    slope = float(fitted.coefficients[-1]) if known else 0.0
    shifted, ones = slope * special.logit(cases["raw"].to_numpy()), np.ones(cases.height)
    level = fit_logistic(ones[:, None], observed, ["intercept"], trials=ones, offset=shifted)
    return Recalibration(float(level.coefficients[0]), slope)


def _weighed(result: FailuresResult, cases: pl.DataFrame, held: _HeldOut, every: Recalibration) -> list[dict[str, Any]]:
    """The cases asked for with their risks and weights."""
    seen = held.cases.select("case", "video", "risk", "raw", source=pl.lit("held out"))
    names = _names(cases)
    known = cases.select(names).join(seen, on=names, how="inner", maintain_order="left")
    new = cases.join(seen, on=names, how="anti", maintain_order="left")
    rows = known.to_dicts()
    if new.height:
        raw = _new_risks(result, new, float(held.cases["observed"].mean()))  # type: ignore[arg-type]
        video = new["video"] if "video" in new.columns else pl.Series([None] * new.height, dtype=pl.String)
        rows += pl.DataFrame(
            {"case": new["case"], "video": video, "risk": every.of(raw), "raw": raw, "source": ["new"] * new.height}
        ).to_dicts()
    mean = float(np.mean([row["risk"] for row in rows])) if rows else 1.0
    return [{**row, "weight": row["risk"] / mean} for row in rows]


def _named_cases(result: FailuresResult, rows: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """One row per case, with its name, its video where the table says it, and its properties.

    Raises:
        TableInvalid: With every column that is not there, and cases whose rows disagree.
    """
    needed = _properties_of(result)
    key = case_key(result, rows)
    if "case" in wanted.columns and not all(name in wanted.columns for name in key.split(":")):
        key = "case"
    problems = [f"column {name!r} does not exist" for name in (*key.split(":"), *needed) if name not in wanted.columns]
    if problems:
        raise TableInvalid("cases to weigh", problems)
    video = result.tests.video
    known = all(name in wanted.columns for name in video.split(":"))
    named = wanted.with_columns(_joined(key, "case"), *([_joined(video, "video")] if known else []))
    kept = list(dict.fromkeys(("case", *(["video"] if known else []), *needed)))
    once = named.select(kept).unique(maintain_order=True)
    if repeated := once.filter(pl.struct(_names(once)).is_duplicated())["case"].unique(maintain_order=True).to_list():
        raise TableInvalid(
            "cases to weigh",
            [
                f"{len(repeated)} cases have rows with other properties (first: "
                f"{repeated[0]!r}); give one row per case, and the column "
                f"{video!r} where videos number their cases alike"
            ],
        )
    if empty := sum(once[name].null_count() for name in needed):
        raise TableInvalid("cases to weigh", [f"{empty} properties are empty; a case without them has no risk"])
    return once


def _check_same(result: FailuresResult, rows: pl.DataFrame, cases: pl.DataFrame) -> None:
    """Refuse cases that only have the name of one that was analysed: they would get the risk of another image.

    Raises:
        TableInvalid: Names that stand for several videos, or for cases with other properties.
    """
    needed, names = _properties_of(result), _names(cases)
    video = result.tests.video
    analysed = rows.select(
        case_of(result, rows).alias("case"),
        *([_joined(video, "video")] if video else []),
        *(pl.col(name).alias(f"\0{name}") for name in needed),
    ).unique(maintain_order=True)
    both = cases.join(analysed, on=names, how="inner", maintain_order="left")
    alike = pl.all_horizontal(_as_text(both[name]).eq_missing(_as_text(both[f"\0{name}"])) for name in needed)
    named = (
        both.with_columns(alike.alias("\0alike"))
        .group_by(names, maintain_order=True)
        .agg(
            pl.col("\0alike").any(),
            pl.col("video").n_unique().alias("\0videos") if video else pl.lit(1).alias("\0videos"),
        )
    )
    problems = []
    if several := named.filter(pl.col("\0videos") > 1)["case"].to_list():
        problems.append(
            f"{len(several)} cases have the name of cases of several videos (first: {several[0]!r}); give "
            f"the column {video!r} too"
        )
    elif other := named.filter(~pl.col("\0alike"))["case"].to_list():
        problems.append(
            f"{len(other)} cases have the name of a case that was analysed and other properties (first"
            f": {other[0]!r}); an image that is another one needs another name"
        )
    if problems:
        raise TableInvalid("cases to weigh", problems)


def _properties_of(result: FailuresResult) -> list[str]:
    """The columns that a risk is predicted from."""
    names = [column_of(variable) for term in result.fit.design.model.fixed for variable in term.split(":")]
    return [name for name in dict.fromkeys(names) if name != result.model_column]


def _names(cases: pl.DataFrame) -> list[str]:
    """What tells cases apart: their names, and the video where it is said."""
    return [name for name in ("case", "video") if name in cases.columns]


def _joined(key: str, name: str) -> pl.Expr:
    """A column, or a combination of several, as text."""
    return pl.concat_str(pl.col(key.split(":")).cast(pl.String), separator=":").alias(name)


def _as_text(values: pl.Series) -> pl.Series:
    """Values as text, whole numbers and booleans alike in every type."""
    is_number = values.dtype.is_numeric() or values.dtype == pl.Boolean
    return (values.cast(pl.Float64) if is_number else values).cast(pl.String)


def _new_risks(result: FailuresResult, cases: pl.DataFrame, otherwise: float) -> np.ndarray:
    """Risks by the model of all videos, as the mean over models where they enter as a property."""
    column = result.model_column
    terms = {column_of(variable) for term in result.fit.design.model.fixed for variable in term.split(":")}
    if column not in terms:
        return _predicted(result, result.fit, cases, otherwise)
    models = result.fit.design.frame[column].unique(maintain_order=True).to_list()
    each = [_predicted(result, result.fit, cases.with_columns(pl.lit(one).alias(column)), otherwise) for one in models]
    return np.asarray(np.mean(each, axis=0))


def _figures(held: _HeldOut, stage: str, level: float) -> dict[str, Any]:
    """How held-out predictions compare with what was observed."""
    cases = held.cases
    predicted, observed, constant = (cases[name].to_numpy() for name in (stage, "observed", "constant"))
    _, codes = np.unique(cases["video"].to_numpy().astype(str), return_inverse=True)
    sizes = np.bincount(codes).astype(np.float64)
    off = mean_interval(np.bincount(codes, weights=predicted - observed)[:, None], sizes, level=level)
    brier, plain = float(np.mean((observed - predicted) ** 2)), float(np.mean((observed - constant) ** 2))
    row = {
        "stage": {"raw": "as predicted", "risk": "calibrated"}[stage],
        "cases": cases.height,
        "videos": len(sizes),
        "folds": held.folds,
        "observed": float(observed.mean()),
        "predicted": float(predicted.mean()),
        "difference": float(off.value[0]),
        "low": _known(off.low[0]),
        "high": _known(off.high[0]),
        "brier": brier,
        "brier_constant": plain,
        "skill": 1 - brier / plain if plain > 0 else None,
    }
    return row | risk_slope(cases, stage, codes, level)


def risk_slope(cases: pl.DataFrame, stage: str, codes: np.ndarray, level: float) -> dict[str, float | None]:
    """The slope of observed on predicted log odds, CR2 by video: 1 where predictions spread as outcomes do.

    Risks that are equal inside every part have none.
    """
    fitted = _logit_fit(cases, stage)
    if "slope" not in fitted.names or not fitted.converged:
        return {"slope": None, "slope_low": None, "slope_high": None}
    slope = float(fitted.coefficients[-1])
    error = float(np.sqrt(max(cluster_covariance(fitted, [codes], kind="CR2")[-1, -1], 0.0)))
    width = float(special.stdtrit(codes.max(), 0.5 + level / 2)) * error
    return {"slope": slope, "slope_low": slope - width, "slope_high": slope + width}


def _bins(cases: pl.DataFrame, level: float) -> Iterator[dict[str, Any]]:
    """Tenths of the cases by calibrated risk, equal risks together."""
    ordered = cases.with_columns(bin=((pl.col("risk").rank("min") - 1) * BINS / pl.len()).floor().cast(pl.Int64))
    for (_,), some in ordered.sort("risk").group_by("bin", maintain_order=True):
        by_video = some.group_by("video", maintain_order=True).agg(pl.col("observed").sum(), pl.len())
        ends: tuple[float | None, float | None] = (None, None)
        if by_video.height > 2:
            sums = by_video["observed"].to_numpy()[:, None]
            made = mean_interval(sums, by_video["len"].to_numpy().astype(np.float64), level=level, low=0.0, high=1.0)
            ends = (_known(made.low[0]), _known(made.high[0]))
        yield {
            "predicted": some["risk"].mean(),
            "observed": some["observed"].mean(),
            "low": ends[0],
            "high": ends[1],
            "cases": some.height,
            "videos": by_video.height,
        }


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _findings(
    weighed: list[dict[str, Any]], calibration: list[dict[str, Any]], every: Recalibration
) -> Iterator[Finding]:
    seen = sum(row["source"] == "held out" for row in weighed)
    if seen:
        yield remark(
            "risk-of-tested-cases",
            f"{seen} of the {len(weighed)} cases weighed are cases that the analysis "
            "rests on; who trains on them cannot be tested on them again",
        )
    raw = calibration[0]
    if every.slope == 0 or raw["slope_low"] is None or raw["slope_low"] <= 0:
        how = "all weights are equal" if every.slope == 0 else "weights may be noise"
        yield remark(
            "risk-not-informative",
            f"held-out predictions do not tell cases that fail from others by more than chance; {how}",
        )


def _prose(held: _HeldOut) -> str:
    return (
        "Risks: the expected loss of a case by its properties alone, over models and random effects; for cases of the "
        f"analysis by fits without their videos ({held.folds} parts of whole videos), recalibrated by intercept and "
        "slope on the other parts. Slopes are taken inside parts, with CR2 intervals by video. Weights are risks over "
        "their mean."
    )
