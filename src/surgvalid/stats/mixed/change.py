"""What a remedy changed: effects of properties before and after on the same cases, and gains where they occur.

Both rounds are stacked and fitted as one mixed model, `outcome ~ properties * after`, with the random effects of the
cases, so that what a case or a video has in common cancels out, and `(0 + after | video)`, because a new algorithm is
better in some videos than in others for reasons of its own. The change of a property's effect is the coefficient
`property:after`, from a fit in which the effect and its change may both differ between videos, tested by the rule of
`term_tests`. The gain on the cases with and without the property is a paired difference of means, with the exact
sign-flip test and interval of `compare`; below six videos it can show nothing.

The decision a reader would question: a remedy is only said to help where its gain or change passes Holm's correction.
Properties that the remedy was built against are corrected among themselves (gains: on the cases with them), everything
else among itself. A remedy that does nothing has many properties to look good on by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.results.tables import failures as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.comparison import pair_row
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.intervals.interval_settings import IntervalSettings
from surgvalid.stats.intervals.slices import Slice
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.term_fits import CoefficientFit, changes_inside, slope_factor, slope_fit
from surgvalid.stats.mixed.inference.term_tests import ALPHA
from surgvalid.stats.mixed.inference.tested import TestRule, base_fit
from surgvalid.stats.mixed.model.design import Design, design_of, factor_of
from surgvalid.stats.mixed.model.design_checks import absent_columns
from surgvalid.stats.mixed.model.failure_settings import FailureSettings
from surgvalid.stats.mixed.model.formula import Slope, column_of, fixed_terms, random_terms
from surgvalid.stats.mixed.model.roles import NO_OUTCOME, EffectRoles, FailureRequest, roles_of
from surgvalid.stats.mixed.model.structure import Factor
from surgvalid.stats.mixed.model.table import Rows, analysed_rows
from surgvalid.stats.mixed.model.workflow import settle_outcome

AFTER = "after"
ALL_CASES = "(all cases)"
FEWEST_VIDEOS = 6
"""Below, the exact test cannot be significant."""


@dataclass(frozen=True, kw_only=True)
class ChangeSettings(FailureSettings):
    """What is asked about both rounds."""

    target: str | Sequence[str] = ()
    """Properties that the remedy was built against, by column or coefficient."""

    @property
    def _several(self) -> tuple[str, ...]:
        return (*super()._several, "target")


class Changed(NamedTuple):
    """The tables `effect_changes` and `gains`, what to know about them, and a paragraph."""

    effects: pl.DataFrame
    gains: pl.DataFrame
    findings: tuple[Finding, ...]
    prose: str


def change_tables(before: Any, after: Any, asked: ChangeSettings) -> Changed:
    """What changed between the tables of two rounds; the settings are the arguments of `surgvalid.failure_change`.

    Raises:
        TableInvalid: The rounds have no case in common, or do not agree on properties.
        Misuse: No outcome, no video, or models that do not belong together.
    """
    if (asked.outcome is None) == (asked.successes is None or asked.trials is None):
        raise Misuse(NO_OUTCOME)
    if not asked.fixed:
        raise Misuse("changes are of properties; name their columns (fixed, --fixed)")
    asked = asked.renamed()
    rounds = [analysed_rows(table, asked, where=where) for where, table in (("before", before), ("after", after))]
    return changed(rounds[0], rounds[1], asked)


def changed(before: Rows, after: Rows, asked: ChangeSettings) -> Changed:
    """What changed between two rounds on the same cases.

    Args:
        before: The rows of the old algorithm, or of several.
        after: Those of the new one, or of the same ones.
        asked: Outcome, properties and random effects.

    Raises:
        TableInvalid: The rounds have no case in common, cases twice, or other properties of the same case.
        Misuse: There is no video to hold changes against, or which models belong together is not clear.
    """
    stacked, request, lost = _paired(before, after, asked)
    frame, settled, _ = settle_outcome(stacked, request, asked.family, "none", "before and after")
    better = before.better or ("larger" if settled.family == "binomial" else None)
    if better is None:
        raise Misuse("a gain needs to know which values of the outcome are better; state it (better, --better)")
    design, video = _design(frame, settled)
    known = {*asked.fixed, *design.names[1:]}
    if strange := [name for name in asked.target if name not in known]:
        raise UnknownName("property to be remedied", strange[0], sorted(known))
    base = base_fit(design, TestRule(level=asked.level))
    sign = 1.0 if better == "larger" else -1.0
    effects = _effect_rows(base, video, sign, asked)
    gains = _gain_rows(design, settled, video, better, asked)
    notes = [*before.findings, *after.findings, *lost, *_findings(base, effects, gains)]
    return Changed(
        tables.EFFECT_CHANGES.frame(effects),
        tables.GAINS.frame(gains),
        tuple(dict.fromkeys(notes)),
        _prose(base, design, video, asked),
    )


def _paired(before: Rows, after: Rows, asked: ChangeSettings) -> tuple[pl.DataFrame, FailureRequest, list[Finding]]:
    """Both rounds below each other on the cases that both have, with the column `after`."""
    frames, fixed = {"before": before.frame, "after": after.frame}, fixed_terms(asked.fixed)
    if crossed := [term for term in fixed if ":" in term]:
        raise Misuse(f"changes are of single properties; leave the interaction {crossed[0]} out")
    groups, slopes = random_terms(asked.random)
    if slopes:
        raise Misuse(f"random slopes are added here by themselves; leave {slopes[0]} out")
    _check_rounds(frames, asked, fixed, groups)
    roles = roles_of(before.frame, groups, unit=asked.unit, where="before")
    if not roles.video:
        raise Misuse(
            "changes have to hold between videos; name their column, video or patient, among the random "
            "effects (random, --random)"
        )
    if clash := [name for name, frame in frames.items() if AFTER in frame.columns]:
        raise TableInvalid(clash[0], [f"column {AFTER!r} is needed to tell the rounds apart; rename yours"])
    groups, roles = _without_models(frames, groups, roles)
    keys = list(dict.fromkeys(variable for name in groups for variable in name.split(":")))
    problems = [
        f"{name}: {twice} rows repeat a combination of {', '.join(keys)}, so pairs are not clear; name what tells them "
        "apart among the random effects"
        for name, frame in frames.items()
        if (twice := int(frame.select(keys).is_duplicated().sum()))
    ]
    if problems:
        raise TableInvalid("before and after", problems)
    columns = _columns(asked, keys)
    both = {
        name: _matched(frame, frames["after" if name == "before" else "before"], keys).sort(keys)
        for name, frame in frames.items()
    }
    if both["before"].is_empty():
        firsts = "; ".join(
            f"{name}: {', '.join(map(repr, frame.select(keys).row(0)))}" for name, frame in frames.items()
        )
        raise TableInvalid(
            "before and after",
            [
                f"no row of one has the {', '.join(keys)} of a row of the other (first "
                f"of {firsts}); both rounds (--before, --after) have to be of the same cases"
            ],
        )
    if problems := list(_disagreements(both, asked)):
        raise TableInvalid("before and after", problems)
    stacked = pl.concat(
        [frame.select(columns).with_columns(pl.lit(place).alias(AFTER)) for place, frame in enumerate(both.values())],
        how="vertical_relaxed",
    )
    lost = {name: frame.height - both[name].height for name, frame in frames.items()}
    notes = [
        remark("rows-unpaired", f"{count} rows of {name} have no partner and are left out")
        for name, count in lost.items()
        if count
    ]
    request = FailureRequest(
        asked.response,
        asked.trials,
        (*fixed, AFTER, *(f"{term}:{AFTER}" for term in fixed)),
        groups,
        "default",
        "random",
        "binomial",
        slopes=(Slope(AFTER, roles.video),),
        roles=roles,
    )
    return stacked, request, notes


def _check_rounds(
    frames: Mapping[str, pl.DataFrame], asked: ChangeSettings, fixed: Sequence[str], groups: Sequence[str]
) -> None:
    """Refuse rounds without rows or columns that are asked about, with the option that names each."""
    named = {
        "outcome": [asked.response],
        "trials": [asked.trials] if asked.trials else [],
        "fixed": [*map(column_of, fixed)],
        "random": [column for name in groups for column in name.split(":")],
    }
    problems = [
        f"{where}: {problem} (option {option})"
        for where, frame in frames.items()
        for option, names in named.items()
        for problem in absent_columns(frame, names)
    ]
    problems += [f"{where}: the table has no rows" for where, frame in frames.items() if frame.is_empty()]
    if problems:
        raise TableInvalid("before and after", problems)


def _columns(asked: ChangeSettings, keys: Sequence[str]) -> list[str]:
    named = [asked.response, asked.trials, *map(column_of, asked.fixed), *keys]
    return list(dict.fromkeys(name for name in named if name))


def _matched(frame: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows that the other round has too; keys are compared as text."""
    hidden = {key: f"\0{key}" for key in keys}
    left, right = (
        one.with_columns(pl.col(key).cast(pl.String).alias(name) for key, name in hidden.items())
        for one in (frame, other)
    )
    return left.join(right.select(hidden.values()), on=list(hidden.values()), how="semi").drop(hidden.values())


def _without_models(
    frames: Mapping[str, pl.DataFrame], groups: tuple[str, ...], roles: EffectRoles
) -> tuple[tuple[str, ...], EffectRoles]:
    """The random effects without the model, where each round is one; else both rounds must have the same models."""
    if not roles.model:
        return groups, roles
    models = [set(frame[roles.model].cast(pl.String).drop_nulls()) for frame in frames.values()]
    if all(len(some) == 1 for some in models):
        kept = tuple(name for name in groups if roles.model not in name.split(":"))
        return kept, roles._replace(model="")
    if models[0] != models[1]:
        only = ", ".join(sorted(models[0] ^ models[1])[:5])
        raise Misuse(
            f"before and after have other models ({only}), so it is not clear which belong together; give one "
            "model each, or the same names"
        )
    return groups, roles


def _disagreements(both: Mapping[str, pl.DataFrame], asked: ChangeSettings) -> Iterator[str]:
    """Properties that are not the same for the same case; they belong to the case and not to the algorithm."""
    for term in asked.fixed:
        old, new = (frame[column_of(term)].cast(pl.String) for frame in both.values())
        if differing := int(old.ne_missing(new).sum()):
            yield f"property {column_of(term)!r} differs between the rounds for {differing} of the same cases"


def _design(frame: pl.DataFrame, request: FailureRequest) -> tuple[Design, Factor]:
    """The arrays of the joint model; counts get an effect of every row, as `default` has."""
    model, unit = request.model(extra=False), request.roles.unit
    counts = request.trials is not None and not bool((frame[request.trials].drop_nulls() <= 1).all())
    if counts and unit:
        row = ":".join(name for name in (AFTER, request.roles.model, unit) if name)
        model = replace(model, random=(*model.random, row))
    design = design_of(frame, model, where="before and after", separation="keep")
    return design, factor_of(design.frame, request.roles.video)


def _effect_rows(base: MixedFit, video: Factor, sign: float, asked: ChangeSettings) -> list[dict[str, Any]]:
    rows = [
        _effect(base, name, video, asked)
        for name in base.names[1:]
        if ":" not in name and name != AFTER and f"{name}:{AFTER}" in base.names
    ]
    _correct(rows, [_is_target(row["term"], base.design, asked) for row in rows])
    return [row | {"verdict": _effect_verdict(row, sign)} for row in rows]


def _is_target(name: str, design: Design, asked: ChangeSettings) -> bool:
    return name in asked.target or column_of(design.terms.get(name, name)) in asked.target


def _correct(rows: Sequence[dict[str, Any]], targeted: Sequence[bool]) -> None:
    """Put Holm's p values into the rows: targets among themselves, the rest among itself."""
    for kind in (True, False):
        family = [row for row, target in zip(rows, targeted, strict=True) if target is kind]
        p = np.array([np.nan if row["p_value"] is None else row["p_value"] for row in family])
        for row, corrected in zip(family, adjusted(p, "holm") if family else (), strict=True):
            row["p_holm"] = None if np.isnan(corrected) else float(corrected)


def _effect_verdict(row: Mapping[str, Any], sign: float) -> str:
    if row["p_holm"] is None:
        return "not tested"
    if row["p_holm"] > ALPHA:
        return "no change shown"
    return "less harmful" if sign * row["change"] > 0 else "more harmful"


def _effect(base: MixedFit, name: str, video: Factor, asked: ChangeSettings) -> dict[str, Any]:
    """A property before and after, from one fit in which its effect and its change may differ between videos."""
    tested = slope_fit(_with_slope(base, name, video), f"{name}:{AFTER}", video)
    fitted, j, k = tested.fit, base.names.index(name), base.names.index(f"{name}:{AFTER}")
    contrast = np.zeros((3, len(base.names)))
    contrast[0, j] = contrast[1, j] = contrast[1, k] = contrast[2, k] = 1.0
    estimate = contrast @ fitted.beta
    error = np.sqrt(np.einsum("ij,jk,ik->i", contrast, fitted.covariance, contrast))
    width = np.full(3, np.nan) if tested.df is None else special.stdtrit(tested.df, 0.5 + asked.level / 2) * error
    ends = np.column_stack([estimate - width, estimate + width])
    ratio = base.family != "gaussian"
    return {
        "term": name,
        "before": estimate[0],
        "after": estimate[1],
        "change": estimate[2],
        "std_error": error[2],
        **{
            f"{side}{end}": _known(ends[place, at])
            for place, side in enumerate(("before_", "after_", ""))
            for at, end in enumerate(("low", "high"))
        },
        "df": tested.df if tested.df is not None and np.isfinite(tested.df) else None,
        "p_value": _p_value(estimate[2], error[2], tested),
        "p_holm": None,
        "odds_ratio_before": float(np.exp(estimate[0])) if ratio else None,
        "odds_ratio_after": float(np.exp(estimate[1])) if ratio else None,
        "videos": tested.where.videos,
        "method": tested.method if tested.df is not None else tested.reason,
        "verdict": "",
    }


def _with_slope(base: MixedFit, name: str, video: Factor) -> MixedFit:
    """The joint fit with the effect of a property free to differ between videos, where it changes inside them."""
    column = base.design.fixed[:, base.names.index(name)]
    if not changes_inside(column, video).any():
        return base
    design = replace(base.design, factors=(*base.design.factors, slope_factor(name, column, video)))
    if base.family == "gaussian":
        return fit(design, restricted=True)
    return fit(design, restricted=True, start=base, penalty=dict(base.penalty) or None)


def _p_value(estimate: float, error: float, tested: CoefficientFit) -> float | None:
    if tested.df is None or not np.isfinite(error) or error <= 0:
        return None
    return float(2 * special.stdtr(tested.df, -abs(estimate / error)))


def _gain_rows(
    design: Design, request: FailureRequest, video: Factor, better: str, asked: ChangeSettings
) -> list[dict[str, Any]]:
    """Paired gains on all cases, and on those with and without each property."""
    scores, cases = _scores(design, request, video, better)
    matrix = scores.matrix(missing="drop-case")
    order = matrix.cases.select("case").with_row_index("at").join(cases, on="case", how="left", maintain_order="left")
    rows = []
    for term, side, words, column in _strata(design):
        kept = np.ones(len(matrix.values), dtype=bool) if column is None else order[column].to_numpy().astype(bool)
        if kept.any():
            rows.append({"term": term, "side": side, "subgroup": words, **_gain(Slice({}, matrix.where(kept)), asked)})
    _correct(rows, [row["side"] == "with" and _is_target(row["term"], design, asked) for row in rows])
    return [row | {"verdict": _gain_verdict(row)} for row in rows]


def _strata(design: Design) -> Iterator[tuple[str, str, str, str | None]]:
    """Property, side, words, and the column of the cases that says which belong to it."""
    yield ALL_CASES, "all", "all cases", None
    for name in design.names[1:]:
        if ":" in name or name == AFTER:
            continue
        yield name, "with", f"with {name}", f"with {name}"
        yield name, "without", f"without {name}", f"without {name}"


def _scores(design: Design, request: FailureRequest, video: Factor, better: str) -> tuple[ScoreTable, pl.DataFrame]:
    """The outcome of both rounds as two models on the same cases, and which cases have which property.

    Of a number, those above its median have it.
    """
    keys = list(
        dict.fromkeys(
            variable
            for name in (request.roles.model, request.roles.unit, request.roles.video)
            if name
            for variable in name.split(":")
        )
    )
    case = design.frame.select(pl.concat_str(pl.col(keys).cast(pl.String), separator="\0")).to_series()
    after = design.frame[AFTER].to_numpy() == 1
    binary = design.model.family == "binomial"
    value = design.response / design.trials if binary else design.response
    having: dict[str, np.ndarray] = {}
    for j, name in enumerate(design.names[1:], start=1):
        column = design.fixed[:, j]
        edge = 0.5 if np.isin(column, (0.0, 1.0)).all() else float(np.median(column))
        having |= {f"with {name}": column > edge, f"without {name}": column <= edge}
    frame = pl.DataFrame(
        {
            "model": np.where(after, "after", "before"),
            "case": case,
            "video": video.labels.gather(video.codes),
            "value": value,
            "metric": ["outcome"] * len(case),
        }
    )
    cases = pl.DataFrame({"case": case, **having}).unique("case", keep="first", maintain_order=True)
    order = pl.concat([frame.filter(pl.col("model") == name) for name in ("after", "before")])
    return ScoreTable.of(order, better=better), cases


def _gain(slice_: Slice, asked: ChangeSettings) -> dict[str, Any]:
    matrix = slice_.matrix.columns(["after", "before"])
    row, _ = pair_row(slice_._replace(matrix=matrix), IntervalSettings(level=asked.level))
    sign = matrix.metric.sign
    ends = sorted((sign * row[end] for end in ("low", "high") if row[end] is not None), key=float)
    tested = row["videos"] >= FEWEST_VIDEOS
    return {
        "cases": row["cases"],
        "videos": row["videos"],
        "before": row["value_b"],
        "after": row["value_a"],
        "gain": sign * row["difference"],
        "low": _known(ends[0]) if len(ends) == 2 else None,
        "high": _known(ends[1]) if len(ends) == 2 else None,
        "p_value": row["p_value"] if tested else None,
        "p_holm": None,
        "verdict": "",
    }


def _gain_verdict(row: Mapping[str, Any]) -> str:
    if row["p_holm"] is None:
        return "too few videos"
    if row["p_holm"] > ALPHA:
        return "no gain shown"
    return "better" if row["gain"] > 0 else "worse"


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _findings(
    base: MixedFit, effects: Sequence[Mapping[str, Any]], gains: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    for name, reason in base.design.not_assessable.items():
        if ":" not in name:
            yield remark("not-assessable", f"{name} {reason}; not assessable", name)
    if untested := [row["term"] for row in effects if row["verdict"] == "not tested"]:
        yield remark("few-videos", f"the change of {', '.join(untested)} could not be tested on these videos")
    if all(row["verdict"] == "too few videos" for row in gains):
        yield remark("few-videos", f"fewer than {FEWEST_VIDEOS} videos: no gain can be shown")
    elif not any(row["verdict"] == "better" for row in gains):
        yield remark("no-gain-shown", "no gain is shown anywhere: what looks better may be chance")
    if worse := [row["subgroup"] for row in gains if row["verdict"] == "worse"]:
        yield remark("worse-somewhere", f"worse than before: {', '.join(worse)}")
    if not base.convergence.converged:
        yield remark("not-converged", "the joint fit did not converge; its numbers must not be used")


def _prose(base: MixedFit, design: Design, video: Factor, asked: ChangeSettings) -> str:
    return (
        f"Both rounds ({design.rows:,} rows, {video.levels} levels of {video.name}) were fitted as one {base.family} "
        f"mixed model, {design.model}, so that changes are paired by case; each change comes from a fit in "
        f"which the effect and its change may differ between levels of {video.name}, by restricted likelihood and t "
        f"tests whose degrees of freedom count them. Gains are paired differences of means with the exact sign-flip "
        f"test over {video.name}. Verdicts follow Holm's correction, {_family(asked)}."
    )


def _family(asked: ChangeSettings) -> str:
    if not asked.target:
        return "over the rows of each table"
    return f"over the targets ({', '.join(asked.target)}) and over the other rows of each table"
