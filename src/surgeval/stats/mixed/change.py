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
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.results.tables import failures as tables
from surgeval.schema.findings import Finding
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.statistic_rules import remark
from surgeval.schema.table_facts import Directions
from surgeval.stats.comparison import pair_row
from surgeval.stats.corrections import adjusted
from surgeval.stats.interval import Settings
from surgeval.stats.mixed.design import Design, design_of, factor_of
from surgeval.stats.mixed.design_checks import absent_columns
from surgeval.stats.mixed.failures import renamed_term, renamed_terms
from surgeval.stats.mixed.fit import fit
from surgeval.stats.mixed.formula import FamilyName, Slope, column_of, fixed_terms, random_terms
from surgeval.stats.mixed.request import NO_OUTCOME, Request
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.roles import Roles, roles_of
from surgeval.stats.mixed.structure import Factor
from surgeval.stats.mixed.symbols import ALPHA
from surgeval.stats.mixed.table import Rows, analysed_rows
from surgeval.stats.mixed.term_fits import CoefficientFit, slope_factor, slope_fit
from surgeval.stats.mixed.tested import Rule, base_fit
from surgeval.stats.mixed.variation import changes_inside
from surgeval.stats.mixed.workflow import settle_outcome
from surgeval.stats.slices import Slice

AFTER = "after"
ALL_CASES = "(all cases)"
FEWEST_VIDEOS = 6
"""Below, the exact test cannot be significant."""


Family = Literal["auto"] | FamilyName


@dataclass(frozen=True)
class ChangeRequest:
    """What is asked about both rounds, by names only."""

    outcome: str
    trials: str | None
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    family: Family = "auto"
    unit: str | None = None
    level: float = 0.95
    target: tuple[str, ...] = ()
    """Properties that the remedy was built against, by column or coefficient."""


class Changed(NamedTuple):
    """The tables `effect_changes` and `gains`, what to know about them, and a paragraph."""

    effects: pl.DataFrame
    gains: pl.DataFrame
    findings: tuple[Finding, ...]
    prose: str


def change_tables(
    before: Any,
    after: Any,
    *,
    successes: str | None,
    trials: str | None,
    outcome: str | None,
    fixed: str | Sequence[str],
    random: str | Sequence[str],
    family: Family,
    properties: Any,
    metric: str | None,
    better: Directions,
    missing: Missing,
    target: str | Sequence[str],
    unit: str | None,
    level: float,
    columns: Mapping[str, str] | None,
) -> Changed:
    """What changed between the tables of two rounds; the arguments are those of `surgeval.failure_change`.

    Raises:
        TableInvalid: The rounds have no case in common, or do not agree on properties.
        Misuse: No outcome, no video, or models that do not belong together.
    """
    if (outcome is None) == (successes is None or trials is None):
        raise Misuse(NO_OUTCOME)
    if not fixed:
        raise Misuse("changes are of properties; name their columns (fixed, --fixed)")
    ours = {theirs: mine for mine, theirs in (columns or {}).items()}
    terms, groups, targets = (renamed_terms(names, ours) for names in (fixed, random, target))
    given = (outcome, successes, trials, unit)
    outcome, successes, trials, unit = (name and renamed_term(name, ours) for name in given)
    named = (*terms, *groups, *(name or "" for name in (outcome, successes, trials, unit)))
    rounds = [
        analysed_rows(table, outcome=outcome, terms=named, metric=metric, better=better, missing=missing,
                      properties=properties, columns=columns, where=where)
        for where, table in (("before", before), ("after", after))
    ]  # fmt: skip
    asked = ChangeRequest(successes or outcome or "", trials, terms, groups, family, unit, level, targets)
    return changed(rounds[0], rounds[1], asked)


def changed(before: Rows, after: Rows, asked: ChangeRequest) -> Changed:
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
    base = base_fit(design, Rule(level=asked.level))
    sign = 1.0 if better == "larger" else -1.0
    effects = _effect_rows(base, video, sign, asked)
    gains = _gain_rows(design, settled, video, better, asked)
    notes = [*before.findings, *after.findings, *lost, *_findings(base, effects, gains)]
    return Changed(tables.EFFECT_CHANGES.frame(effects), tables.GAINS.frame(gains), tuple(dict.fromkeys(notes)),
                   _prose(base, design, video, asked))  # fmt: skip


def _paired(before: Rows, after: Rows, asked: ChangeRequest) -> tuple[pl.DataFrame, Request, list[Finding]]:
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
        raise Misuse("changes have to hold between videos; name their column, video or patient, among the random "
                     "effects (random, --random)")  # fmt: skip
    if clash := [name for name, frame in frames.items() if AFTER in frame.columns]:
        raise TableInvalid(clash[0], [f"column {AFTER!r} is needed to tell the rounds apart; rename yours"])
    groups, roles = _without_models(frames, groups, roles)
    keys = list(dict.fromkeys(variable for name in groups for variable in name.split(":")))
    problems = [
        f"{name}: {twice} rows repeat a combination of {', '.join(keys)}, so pairs are not clear; name what tells them "
        "apart among the random effects"
        for name, frame in frames.items() if (twice := int(frame.select(keys).is_duplicated().sum()))
    ]  # fmt: skip
    if problems:
        raise TableInvalid("before and after", problems)
    columns = _columns(asked, keys)
    both = {name: _matched(frame, frames["after" if name == "before" else "before"], keys).sort(keys)
            for name, frame in frames.items()}  # fmt: skip
    if both["before"].is_empty():
        firsts = "; ".join(
            f"{name}: {', '.join(map(repr, frame.select(keys).row(0)))}" for name, frame in frames.items()
        )
        raise TableInvalid("before and after", [f"no row of one has the {', '.join(keys)} of a row of the other (first "
                           f"of {firsts}); both rounds (--before, --after) have to be of the same cases"])  # fmt: skip
    if problems := list(_disagreements(both, asked)):
        raise TableInvalid("before and after", problems)
    stacked = pl.concat(
        [frame.select(columns).with_columns(pl.lit(place).alias(AFTER)) for place, frame in enumerate(both.values())],
        how="vertical_relaxed",
    )
    lost = {name: frame.height - both[name].height for name, frame in frames.items()}
    notes = [remark("rows-unpaired", f"{count} rows of {name} have no partner and are left out")
             for name, count in lost.items() if count]  # fmt: skip
    request = Request(
        asked.outcome, asked.trials, (*fixed, AFTER, *(f"{term}:{AFTER}" for term in fixed)), groups, "default",
        "random", "binomial", slopes=(Slope(AFTER, roles.video),), roles=roles,
    )  # fmt: skip
    return stacked, request, notes


def _check_rounds(
    frames: Mapping[str, pl.DataFrame], asked: ChangeRequest, fixed: Sequence[str], groups: Sequence[str]
) -> None:
    """Refuse rounds without rows or columns that are asked about, with the option that names each."""
    named = {
        "outcome": [asked.outcome], "trials": [asked.trials] if asked.trials else [],
        "fixed": [*map(column_of, fixed)], "random": [column for name in groups for column in name.split(":")],
    }  # fmt: skip
    problems = [f"{where}: {problem} (option {option})" for where, frame in frames.items()
                for option, names in named.items() for problem in absent_columns(frame, names)]  # fmt: skip
    problems += [f"{where}: the table has no rows" for where, frame in frames.items() if frame.is_empty()]
    if problems:
        raise TableInvalid("before and after", problems)


def _columns(asked: ChangeRequest, keys: Sequence[str]) -> list[str]:
    named = [asked.outcome, asked.trials, *map(column_of, asked.fixed), *keys]
    return list(dict.fromkeys(name for name in named if name))


def _matched(frame: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows that the other round has too; keys are compared as text."""
    hidden = {key: f"\0{key}" for key in keys}
    left, right = (one.with_columns(pl.col(key).cast(pl.String).alias(name) for key, name in hidden.items())
                   for one in (frame, other))  # fmt: skip
    return left.join(right.select(hidden.values()), on=list(hidden.values()), how="semi").drop(hidden.values())


def _without_models(
    frames: Mapping[str, pl.DataFrame], groups: tuple[str, ...], roles: Roles
) -> tuple[tuple[str, ...], Roles]:
    """The random effects without the model, where each round is one; else both rounds must have the same models."""
    if not roles.model:
        return groups, roles
    models = [set(frame[roles.model].cast(pl.String).drop_nulls()) for frame in frames.values()]
    if all(len(some) == 1 for some in models):
        kept = tuple(name for name in groups if roles.model not in name.split(":"))
        return kept, roles._replace(model="")
    if models[0] != models[1]:
        only = ", ".join(sorted(models[0] ^ models[1])[:5])
        raise Misuse(f"before and after have other models ({only}), so it is not clear which belong together; give one "
                     "model each, or the same names")  # fmt: skip
    return groups, roles


def _disagreements(both: Mapping[str, pl.DataFrame], asked: ChangeRequest) -> Iterator[str]:
    """Properties that are not the same for the same case; they belong to the case and not to the algorithm."""
    for term in asked.fixed:
        old, new = (frame[column_of(term)].cast(pl.String) for frame in both.values())
        if differing := int(old.ne_missing(new).sum()):
            yield f"property {column_of(term)!r} differs between the rounds for {differing} of the same cases"


def _design(frame: pl.DataFrame, request: Request) -> tuple[Design, Factor]:
    """The arrays of the joint model; counts get an effect of every row, as `default` has."""
    model, unit = request.model(extra=False), request.roles.unit
    counts = request.trials is not None and not bool((frame[request.trials].drop_nulls() <= 1).all())
    if counts and unit:
        row = ":".join(name for name in (AFTER, request.roles.model, unit) if name)
        model = replace(model, random=(*model.random, row))
    design = design_of(frame, model, where="before and after", separation="keep")
    return design, factor_of(design.frame, request.roles.video)


def _effect_rows(base: MixedFit, video: Factor, sign: float, asked: ChangeRequest) -> list[dict[str, Any]]:
    rows = [
        _effect(base, name, video, asked)
        for name in base.names[1:] if ":" not in name and name != AFTER and f"{name}:{AFTER}" in base.names
    ]  # fmt: skip
    _correct(rows, [_is_target(row["term"], base.design, asked) for row in rows])
    return [row | {"verdict": _effect_verdict(row, sign)} for row in rows]


def _is_target(name: str, design: Design, asked: ChangeRequest) -> bool:
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


def _effect(base: MixedFit, name: str, video: Factor, asked: ChangeRequest) -> dict[str, Any]:
    """A property before and after, from one fit in which its effect and its change may differ between videos."""
    tested = slope_fit(
        _with_slope(
            base,
            name,
            video,
        ),
        f"{name}:{AFTER}",
        video,
    )
    fitted, j, k = tested.fit, base.names.index(name), base.names.index(f"{name}:{AFTER}")
    contrast = np.zeros((3, len(base.names)))
    contrast[0, j] = contrast[1, j] = contrast[1, k] = contrast[2, k] = 1.0
    estimate = contrast @ fitted.beta
    error = np.sqrt(np.einsum("ij,jk,ik->i", contrast, fitted.covariance, contrast))
    width = np.full(3, np.nan) if tested.df is None else stats.t.ppf(0.5 + asked.level / 2, tested.df) * error
    ends = np.column_stack([estimate - width, estimate + width])
    ratio = base.family != "gaussian"
    return {
        "term": name, "before": estimate[0], "after": estimate[1], "change": estimate[2], "std_error": error[2],
        **{f"{side}{end}": _known(ends[place, at]) for place, side in enumerate(("before_", "after_", ""))
           for at, end in enumerate(("low", "high"))},
        "df": tested.df if tested.df is not None and np.isfinite(tested.df) else None,
        "p_value": _p_value(estimate[2], error[2], tested),
        "p_holm": None, "odds_ratio_before": float(np.exp(estimate[0])) if ratio else None,
        "odds_ratio_after": float(np.exp(estimate[1])) if ratio else None, "videos": tested.where.videos,
        "method": tested.method if tested.df is not None else tested.reason, "verdict": "",
    }  # fmt: skip


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
    return float(2 * stats.t.sf(abs(estimate / error), tested.df))


def _gain_rows(
    design: Design, request: Request, video: Factor, better: str, asked: ChangeRequest
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


def _scores(design: Design, request: Request, video: Factor, better: str) -> tuple[ScoreTable, pl.DataFrame]:
    """The outcome of both rounds as two models on the same cases, and which cases have which property.

    Of a number, those above its median have it.
    """
    keys = list(dict.fromkeys(variable for name in (request.roles.model, request.roles.unit, request.roles.video)
                              if name for variable in name.split(":")))  # fmt: skip
    case = design.frame.select(pl.concat_str(pl.col(keys).cast(pl.String), separator="\0")).to_series()
    after = design.frame[AFTER].to_numpy() == 1
    binary = design.model.family == "binomial"
    value = design.response / design.trials if binary else design.response
    having: dict[str, np.ndarray] = {}
    for j, name in enumerate(design.names[1:], start=1):
        column = design.fixed[:, j]
        edge = 0.5 if np.isin(column, (0.0, 1.0)).all() else float(np.median(column))
        having |= {f"with {name}": column > edge, f"without {name}": column <= edge}
    frame = pl.DataFrame({
        "model": np.where(after, "after", "before"), "case": case, "video": video.labels.gather(video.codes),
        "value": value, "metric": ["outcome"] * len(case),
    })  # fmt: skip
    cases = pl.DataFrame({"case": case, **having}).unique("case", keep="first", maintain_order=True)
    order = pl.concat([frame.filter(pl.col("model") == name) for name in ("after", "before")])
    return ScoreTable.of(order, better=better), cases


def _gain(slice_: Slice, asked: ChangeRequest) -> dict[str, Any]:
    matrix = slice_.matrix.columns(["after", "before"])
    row, _ = pair_row(slice_._replace(matrix=matrix), Settings(level=asked.level))
    sign = matrix.metric.sign
    ends = sorted((sign * row[end] for end in ("low", "high") if row[end] is not None), key=float)
    tested = row["videos"] >= FEWEST_VIDEOS
    return {
        "cases": row["cases"], "videos": row["videos"], "before": row["value_b"], "after": row["value_a"],
        "gain": sign * row["difference"], "low": _known(ends[0]) if len(ends) == 2 else None,
        "high": _known(ends[1]) if len(ends) == 2 else None, "p_value": row["p_value"] if tested else None,
        "p_holm": None, "verdict": "",
    }  # fmt: skip


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


def _prose(base: MixedFit, design: Design, video: Factor, asked: ChangeRequest) -> str:
    return (
        f"Both rounds ({design.rows:,} rows, {video.levels} levels of {video.name}) were fitted as one {base.family} "
        f"mixed model, {design.model}, so that changes are paired by case; each change comes from a fit in "
        f"which the effect and its change may differ between levels of {video.name}, by restricted likelihood and t "
        f"tests whose degrees of freedom count them. Gains are paired differences of means with the exact sign-flip "
        f"test over {video.name}. Verdicts follow Holm's correction, {_family(asked)}."
    )


def _family(asked: ChangeRequest) -> str:
    if not asked.target:
        return "over the rows of each table"
    return f"over the targets ({', '.join(asked.target)}) and over the other rows of each table"
