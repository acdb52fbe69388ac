"""The public entry: predictions and references of one kind in, tables with intervals and conventions out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.asking.cluster import LOCAL, check_executor
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.companions import compat_notes, compat_table
from surgvalid.evaluation.data_sets import OPTIONS, PreparedReferences, references_of
from surgvalid.evaluation.measure import EvaluationMaterial, Measured, MeasureSettings, Step, measure, measure_parts
from surgvalid.evaluation.result import AlignmentResult, EvaluationResult
from surgvalid.evaluation.sanity.sanity_finding import (
    Looked,
    few_videos_finding,
    incomplete_split,
    no_better_than_trivial,
    one_case_per_video,
    pooled_apart,
    sanity_table,
    sum_elsewhere,
)
from surgvalid.evaluation.shards import Cut
from surgvalid.evaluation.sharing import Shareable
from surgvalid.results.registered_data import note_cases
from surgvalid.results.request import VerbRequest, files_of, requested
from surgvalid.schema.findings import Finding, Severity, as_findings
from surgvalid.schema.model_names import model_name
from surgvalid.schema.outcomes import Status
from surgvalid.schema.shard import Shard
from surgvalid.schema.tables.score_table import FIXED, ScoreTable
from surgvalid.schema.tables.statistics_table import StatisticsTable
from surgvalid.stats.intervals.few_videos import few_videos, percentile_too_narrow
from surgvalid.stats.intervals.interval_settings import AUTO, percent
from surgvalid.stats.intervals.video_jackknife import degrees_of_freedom, effective_videos

PER_VIDEO = (
    "scores.parquet holds one row per video of {}: a single case has no score. The mean of these rows is the mean over "
    "videos of the metric within each, which is another number than the metric of all videos together. interval, "
    "compare, strata and mean-then-rank give the latter for the metrics that statistics.parquet holds."
)
UNWRITTEN = "statistics.parquet does not hold {} ({}): later verbs can only use its value in each video."
KINDS = ("classification", "cvs", "detection", "phases", "segmentation", "tracking", "triplets")
"""Each names a module here with a function `material`."""


@requested("evaluate {kind}", files=("predictions", "references"))
def evaluate(
    kind: str,
    predictions: Any,
    references: Any = None,
    *,
    model: str | None = None,
    metrics: Sequence[str] = (),
    by: Sequence[str] = (),
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    shard: str | None = None,
    share: bool = False,
    as_read: bool = False,
    executor: str = LOCAL,
    progress: Step | None = None,
    preregistration: str | Path | None = None,  # noqa: ARG001 - held against the settings by `requested`
    deviations: Mapping[str, str] | None = None,  # noqa: ARG001
    **options: Any,
) -> EvaluationResult:
    """Every metric of one model with an interval over videos, and its values per video, class and stratum.

    Args:
        kind: One of `KINDS`.
        predictions: A file or folder as the kind reads it, or a table.
        references: The same, or the folder of a public data set (then `data_set` names it); may be left out where one
            table holds both.
        model: What the model is called in the score table; as the file or folder of predictions if left out.
        metrics: Names from `surgvalid tools list metrics`; a usual choice if left out.
        by: Columns whose values are reported one by one.
        level: Coverage of the intervals.
        replicates: How often whole videos are drawn, where a method draws.
        method: `auto` (nothing is drawn) or `bootstrap`, as for `interval`.
        seed: Seed of the draws.
        shard: `I/N`: only the videos of part I of N, which the name of a video decides. The result is of these videos;
            its folder holds what `combine` needs.
        share: Keep what `share` may give to others: the sums of every video under every metric that has such.
        as_read: Make numbers though a check found that the predictions are misread.
        executor: `local`, or `ray`: shards are read by the workers of a Ray cluster, which must see the files, and
            measured here. The result is the same.
        progress: Called with the number of further metrics that are done.
        preregistration: The registration that the settings must be those of, as `preregister` writes them.
        deviations: Why settings differ from it, by the name of the option; each becomes a warning.
        **options: Of the kind: `classes`, `columns`, `fps`, and so on. With `data_set`, also `task`, `split`, `videos`,
            `rate_hz` and `perspective`, as `references_of` takes them.

    Raises:
        InputInvalid: With every problem of the input, and where a check found the predictions misread.

    Example:
        >>> rows = {"video": list("uuvv"), "frame": [0, 1, 0, 1], "reference": list("abab"), "prediction": list("abaa")}
        >>> evaluate("classification", rows, metrics=["accuracy"]).value("accuracy")
        0.75
    """
    model = model_name(model, predictions, options.get("boxes"), options.get("masks"))
    given: dict[str, Any] = {
        "model": model,
        "metrics": metrics,
        "by": by,
        "level": level,
        "replicates": replicates,
        "method": method,
        "seed": seed,
        **options,
    }
    if executor != LOCAL:
        from surgvalid.evaluation.combine import on_cluster

        if shard is not None:
            raise Misuse("--executor makes shards of its own; leave --shard out")
        if share:
            raise Misuse("what is shared is measured here; leave --executor out")
        check_executor(executor)
        return on_cluster(kind, predictions, references, {**given, "as_read": as_read}, progress or _quiet)
    built = built_of(kind, predictions, references, shard=shard, as_read=as_read, **given)
    material = built.material
    if shard is None and not as_read:
        refuse_misread(material.looked)
    step = progress or _quiet
    result = result_of(kind, model, material, built.settings, built.prepared, built.metrics, step, share=share)
    return replace(result, request=built.request, head=built.head, gathered=material.gathered)


def refuse_misread(looked: Looked) -> None:
    """Refuse numbers of predictions that lie beside other references than their own.

    Raises:
        InputInvalid: With everything that the checks saw, and what mends it.
    """
    if errors := [f"{one.evidence} {one.hint}" for one in looked.values() if one and one.severity is Severity.ERROR]:
        errors[-1] += " evaluate --format as_read makes the numbers nevertheless."
        raise InputInvalid("alignment", errors)


@requested("evaluate {kind} --check", files=("predictions", "references"))
def check(
    kind: str, predictions: Any, references: Any = None, *, model: str | None = None, **options: Any
) -> AlignmentResult:
    """Whether predictions lie beside their references: every check of `evaluate` that needs no metric, and no number.

    Args:
        kind: One of `KINDS`.
        predictions: As `evaluate` takes them.
        references: The same.
        model: What the model is called.
        **options: As `evaluate` takes them.

    Raises:
        InputInvalid: With every problem of the input.
    """
    model = model_name(model, predictions, options.get("boxes"), options.get("masks"))
    built = built_of(kind, predictions, references, model=model, **options)
    looked = built.material.looked
    return AlignmentResult(
        kind=kind,
        model=model,
        tables={"sanity": sanity_table(looked)},
        findings=as_findings([*(one.finding for one in looked.values() if one), *built.material.notes]),
        request=built.request,
    )


class Built(NamedTuple):
    """What was read for an evaluation, ready to be measured."""

    material: EvaluationMaterial
    settings: MeasureSettings
    prepared: PreparedReferences
    metrics: tuple[str, ...]
    head: Mapping[str, Any]
    """For `combine`, where it is a shard."""
    request: VerbRequest


def built_of(
    kind: str,
    predictions: Any,
    references: Any,
    *,
    model: str,
    metrics: Sequence[str] = (),
    by: Sequence[str] = (),
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    shard: str | None = None,
    as_read: bool = False,
    **options: Any,
) -> Built:
    """What `evaluate` reads, before anything is measured.

    Raises:
        InputInvalid: With every problem of the input.
    """
    if kind not in KINDS:
        raise UnknownName("kind of evaluation", kind, KINDS)
    build = import_module(f"surgvalid.evaluation.{kind}").material
    chosen = {name: value for name, value in options.items() if _given(value)}
    known = set(build.__annotations__)
    reached = known - {"cut"}
    wanted = {name: chosen[name] for name in OPTIONS if name in chosen and name not in known}
    if strange := sorted(set(chosen) - reached - set(wanted)):
        raise Misuse(f"{kind} has no option {', '.join(strange)}")
    if reserved := [name for name in by if name in FIXED or list(by).count(name) > 1]:
        raise Misuse(f"cannot report by {', '.join(sorted(set(reserved)))}: a name of the score table, or given twice")
    predictions, references = (Path(side) if isinstance(side, str) else side for side in (predictions, references))
    prepared = _prepared(kind, references, wanted)
    given = {**prepared.options, **{name: value for name, value in chosen.items() if name not in wanted}}
    asked = tuple(metrics) or prepared.metrics
    if shard is not None:
        if "cut" not in known:
            raise Misuse(f"{kind} is not cut into shards; leave --shard out")
        given["cut"] = Cut(Shard.read(shard))
    material: EvaluationMaterial = build(predictions, prepared.references, metrics=asked, by=tuple(by), **given)
    if prepared.files is not None:
        material = replace(material, files=prepared.files)
    settings = MeasureSettings(level, replicates, seed, method, prepared.clusters or material.patients)
    head = _head(kind, model, shard, asked, by, settings, prepared) if material.gathered else {}
    read = _files(material, predictions=predictions, references=references, **chosen)
    request = VerbRequest(inputs=read, settled={"model": model})
    head |= {"as_read": True} if as_read else {}
    return Built(material, settings, prepared, asked, head, request)


def _head(
    kind: str,
    model: str,
    shard: str | None,
    metrics: Sequence[str],
    by: Sequence[str],
    settings: MeasureSettings,
    prepared: PreparedReferences,
) -> dict[str, Any]:
    """What `combine` must know of a run beside its cases."""
    return {
        "kind": kind,
        "model": model,
        "shard": shard,
        "metrics": list(metrics),
        "by": list(by),
        "settings": {name: value for name, value in settings._asdict().items() if name != "clusters"},
        "conventions": dict(prepared.conventions),
        "prose": prepared.prose,
        "clusters": dict(prepared.clusters),
        "notes": [one.as_dict() if isinstance(one, Finding) else one for one in prepared.notes],
        "lacking": None if prepared.files is None else list(prepared.lacking),
    }


def result_of(
    kind: str,
    model: str,
    material: EvaluationMaterial,
    settings: MeasureSettings,
    prepared: PreparedReferences,
    metrics: Sequence[str],
    step: Step,
    *,
    share: bool = False,
) -> EvaluationResult:
    """Everything that can be said of some material."""
    measured = _saying(measure(material, settings, step, share=share), prepared.conventions)
    flawed = compat_table(material.jobs, material.videos, settings)
    looked = {**material.looked, **_looked(material, measured, settings, prepared)}
    notes: list[Finding | str] = [
        *(doubt.finding for doubt in looked.values() if doubt and doubt.severity is not Severity.NOTE),
        *prepared.notes,
        *(["Patients have several videos: intervals leave out one patient at a time."] if material.patients else []),
        *material.notes,
        *compat_notes(flawed),
        *_per_video_note(material),
        *_unwritten_notes(measured),
        *_changing_note(material),
        *(doubt.finding for doubt in looked.values() if doubt and doubt.severity is Severity.NOTE),
    ]
    boards = material.finish(model, measured)
    scores = score_table_of(material, measured, model, metrics, settings.clusters)
    note_cases(scores.frame)
    tables = {
        "metrics": measured.metrics,
        "sanity": sanity_table(looked),
        "per_video": measured.per_video,
        "per_class": measured.per_class,
        "per_stratum": _with_statements(measure_parts(material.parts, settings, step), prepared.conventions),
        **material.extra_tables,
        **boards,
        "compat": flawed,
    }
    return EvaluationResult(
        kind=kind,
        model=model,
        tables={name: frame for name, frame in tables.items() if not frame.is_empty()},
        records={"conventions": measured.conventions},
        prose=_prose(kind, model, material, settings) + prepared.prose,
        findings=as_findings(notes),
        scores=scores,
        boards=tuple(boards),
        shareable=_shareable(kind, model, material, measured, settings, prepared) if share else None,
    )


def _shareable(
    kind: str,
    model: str,
    material: EvaluationMaterial,
    measured: Measured,
    settings: MeasureSettings,
    prepared: PreparedReferences,
) -> Shareable:
    classes = list(dict.fromkeys(str(name) for job in material.class_jobs for name in job.classes))
    head = {
        "kind": kind,
        "model": model,
        "level": settings.level,
        "classes": classes,
        "conventions": dict(prepared.conventions),
    }
    sizes = {video: material.sizes.get(video) for video in material.videos}
    cases: dict[str, str] = {}
    counts = None
    if material.scores is not None:
        named = material.scores.drop_nulls("value").select("video", "case").unique()
        for (video,), rows in named.group_by("video"):
            cases[str(video)] = "\x1f".join(sorted(map(str, rows["case"])))
        by = [name for name in _strata_within(material) if name in material.scores.columns]
        head |= {"by": by} if by else {}
        known = material.scores.filter(pl.col("value").is_not_nan())
        known = known.filter(pl.col("value").is_in([0.0, 1.0]).all().over("metric"))
        counted = known.group_by("metric", "video", *by, maintain_order=True)
        counts = counted.agg(pl.col("value").sum().cast(pl.Int64).alias("successes"), pl.len().alias("trials"))
    return Shareable(measured.shared, measured.unshared, sizes, head, cases, counts)


def _quiet(_: int) -> None:
    """Nobody is told."""


def _looked(
    material: EvaluationMaterial, measured: Measured, settings: MeasureSettings, prepared: PreparedReferences
) -> Looked:
    """The checks of every kind of input, and what they saw."""
    facts = {job.name: job.metric.facts for job in material.jobs}
    sizes = material.sizes
    looked = {
        "few-videos": few_videos_finding(_few(material, settings)),
        "one-case-per-video": one_case_per_video(sizes, stated=prepared.files is not None),
        "pooled-apart": pooled_apart(measured.metrics, measured.per_video, facts, sizes),
        "no-better-than-trivial": no_better_than_trivial(measured.metrics, facts),
        "sum-elsewhere": sum_elsewhere(measured.metrics, len(material.videos)),
    }
    lacking = {"incomplete-split": incomplete_split(prepared.lacking)} if prepared.files is not None else {}
    return {**lacking, **looked}


def _few(material: EvaluationMaterial, settings: MeasureSettings) -> Finding | None:
    """What few videos do to every interval of the result, said once."""
    counted: Counter[str] = Counter()
    for unit, video in zip(settings.units(material.videos), material.videos, strict=True):
        counted[unit] += material.sizes.get(video, 1)
    videos, sizes = len(counted), np.array(list(counted.values()), dtype=np.float64)
    if settings.method == AUTO:
        return few_videos(videos, float(degrees_of_freedom(sizes)))
    return percentile_too_narrow(videos, float(effective_videos(sizes)))


def _per_video_note(material: EvaluationMaterial) -> tuple[str, ...]:
    """Which metrics change their value when the rows of the score table are averaged."""
    pooled = [job.name for job in material.jobs if job.name not in material.scored and job.metric.facts.pooled]
    return (PER_VIDEO.format(", ".join(pooled)),) if pooled else ()


def _unwritten_notes(measured: Measured) -> list[str]:
    return [UNWRITTEN.format(name, why) for name, why in measured.unwritten.items()]


def _strata_within(material: EvaluationMaterial) -> dict[str, dict[str, list[str]]]:
    """For each stratum column, its values within every video."""
    within: dict[str, dict[str, list[str]]] = {}
    for subset in material.parts:
        for video in subset.videos:
            within.setdefault(subset.stratum, {}).setdefault(video, []).append(subset.value)
    return within


def _strata_of_videos(material: EvaluationMaterial) -> pl.DataFrame:
    """Every video with its strata; empty where a stratum changes within the video, or is not stated."""
    columns = {"video": pl.Series("video", material.videos, dtype=pl.String)}
    for stratum, within in _strata_within(material).items():
        values = [within.get(video, []) for video in material.videos]
        texts = [levels[0] if len(levels) == 1 and levels[0] else None for levels in values]
        columns[stratum] = _as_in_cases(material, stratum, texts)
    return pl.DataFrame(columns)


def _as_in_cases(material: EvaluationMaterial, stratum: str, texts: Sequence[str | None]) -> pl.Series:
    """The values of a stratum in the type that rows of cases have, where there are such rows."""
    if material.scores is None or stratum not in material.scores.columns:
        return pl.Series(stratum, texts, dtype=pl.String)
    typed = {str(value): value for value in material.scores[stratum].unique().to_list()}
    return pl.Series(stratum, [typed.get(text or "") for text in texts], dtype=material.scores.schema[stratum])


def _changing_note(material: EvaluationMaterial) -> list[str]:
    """Which strata rows of whole videos cannot carry."""
    whole = {job.name for job in material.jobs} - material.scored
    changing = {
        stratum: sum(len(values) > 1 for values in within.values())
        for stratum, within in _strata_within(material).items()
    }
    return [
        f"Stratum {stratum!r} changes within {count} of {len(material.videos)} videos, so their rows under "
        "metrics of whole videos have none."
        for stratum, count in changing.items()
        if count and whole
    ]


def score_table_of(
    material: EvaluationMaterial,
    measured: Measured,
    model: str,
    asked: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> ScoreTable:
    """The score of every case, and of every video under metrics that no single case has a score of.

    Where a metric has no value there is no row: nothing was scored. Where videos are not independent, `video` names
    what they belong to, since that is what later verbs leave out.
    """
    scored = [] if material.scores is None else [material.scores]
    values = measured.per_video.filter(~pl.col("metric").is_in(list(material.scored))).select(
        "video", "metric", "value"
    )
    values = values.join(_strata_of_videos(material), on="video", how="left", maintain_order="left")
    scored.append(values.with_columns(pl.col("video").alias("case"), pl.lit(Status.ANSWERED.value).alias("status")))
    rows = pl.concat(scored, how="diagonal_relaxed").with_columns(pl.col("status").fill_null(Status.ANSWERED.value))
    rows = rows.with_columns(pl.col("video").replace(clusters or {}))
    known = rows.filter(pl.col("value").is_not_nan() & pl.col("value").is_not_null())
    facts = {job.name: job.metric.facts for job in material.jobs} | dict(material.score_facts)
    main = asked[0] if len(asked) == 1 else None
    whole = known if known.height else rows
    statistics = StatisticsTable.of(model, measured.statistics) if measured.statistics else None
    return ScoreTable.of(
        whole.with_columns(pl.lit(model).alias("model")), facts=facts, main=main, statistics=statistics
    )


def _prose(kind: str, model: str, material: EvaluationMaterial, settings: MeasureSettings) -> str:
    how = (
        "intervals come from leaving out one video at a time (jackknife, Student's t with the degrees of freedom of "
        "Bell and McCaffrey, on the logit scale where a metric is bounded); nothing is drawn."
        if settings.method == AUTO
        else f"{settings.method} intervals come from {settings.replicates:,} cluster bootstrap resamples of whole "
        f"videos (seed {settings.seed})."
    )
    return (
        f"{model!r} was evaluated for {kind} on {material.cases:,} cases of {len(material.videos):,} videos. "
        f"{percent(settings.level)} {how} Estimand and conventions of every metric are in conventions.json."
    )


def _given(value: Any) -> bool:
    """Whether an option says anything; an empty list may be a model that found nothing."""
    return value is not None and not (isinstance(value, str) and not value)


def _prepared(kind: str, references: Any, wanted: dict[str, Any]) -> PreparedReferences:
    """The references as given, or from the folder of a data set."""
    if not wanted:
        return PreparedReferences(references, {}, {})
    if "data_set" not in wanted:
        listed = ", ".join(f"--{name.replace('_', '-')}" for name in wanted)
        raise Misuse(f"{listed}: choose from a public data set; name it with --data-set")
    return references_of(kind, references, **wanted)


def _saying(measured: Measured, statements: Mapping[str, str]) -> Measured:
    """What was measured with the conventions of the data set in every record."""
    if not statements:
        return measured
    tables: dict[str, Any] = {
        name: _with_statements(getattr(measured, name), statements) for name in ("metrics", "per_video", "per_class")
    }
    records = {
        name: {**record, "conventions": {**record["conventions"], **statements}}
        for name, record in measured.conventions.items()
    }
    return measured._replace(**tables, conventions=records)


def _with_statements(frame: pl.DataFrame, statements: Mapping[str, str]) -> pl.DataFrame:
    text = "".join(f"; {key}: {value}" for key, value in statements.items())
    return frame.with_columns(pl.col("conventions") + pl.lit(text)) if statements else frame


def _files(material: EvaluationMaterial, **sources: Any) -> dict[str, list[Path]]:
    """The files read, by parameter; of a data set only what was opened."""
    read = {name: files_of(source) for name, source in sources.items() if isinstance(source, Path)}
    return read if material.files is None else {**read, "references": list(material.files)}
