"""`score`: from questions, references and responses to results, under a named profile, and what its judges did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, QuestionsInvalid, ResponsesMissing, UnknownName
from surgvalid.judges import Judge, Panel, VerdictStore, in_official_protocol, open_judges
from surgvalid.results.manifest import refuse_altered
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.tables import scoring as tables
from surgvalid.schema.documents import is_whole, read_json
from surgvalid.schema.finding_log import NO_ROWS, FindingLog, short
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.model_names import model_name
from surgvalid.schema.procedures.foreign_objects import definitions_text, read_definitions
from surgvalid.schema.questions.question_files import (
    REFERENCES,
    REQUESTS,
    RESPONSES,
    Sources,
    load_questions,
    opened,
    refuse_errors,
    split_source,
)
from surgvalid.schema.tables.missing import Missing
from surgvalid.scoring.lint import KEPT_PER_CODE, LintChecked, checked
from surgvalid.scoring.native_score import NativeOptions, score_native
from surgvalid.scoring.official_score import latency_limit_s, profile_named, score_official
from surgvalid.scoring.ood import SeenSides
from surgvalid.scoring.people import people_on, said_of_people
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.slices import CONTEXT_S, check_context
from surgvalid.scoring.summary import MissingRules
from surgvalid.stats.agreement.report import agreement
from surgvalid.stats.draws import check_replicates, check_seed
from surgvalid.stats.intervals.interval_settings import AUTO, METHODS

_MILLION = 1_000_000


def check_prices(prices: Sequence[float], judges: int) -> None:
    """Refuse prices that are no amounts, or not one per judge."""
    if prices and len(prices) != judges:
        raise Misuse(f"{len(prices)} prices for {judges} judges; name one price per million tokens for each, in order")
    if any(not math.isfinite(price) or price < 0 for price in prices):
        raise Misuse(f"a price is an amount per million tokens, got {', '.join(map(str, prices))}")


def check_share(most_failures: float) -> None:
    """Refuse a share of failures that is none."""
    if not 0 <= most_failures <= 1:
        raise Misuse(f"max_judge_failures is a share of cases between 0 and 1, got {most_failures}")


def with_judges(
    result: ScoreResult, panel: Panel, *, prices: Sequence[float], most_failures: float, replicates: int, seed: int
) -> ScoreResult:
    """The result with what its judges did and, in the native profile, how far they agree."""
    added, findings = {}, list(panel.warnings())
    if panel.judges:
        judges = panel.table()
        if prices:
            judges = judges.with_columns(money=pl.col("tokens") * pl.Series(prices, dtype=pl.Float64) / _MILLION)
        added["judges"] = tables.JUDGES.frame(judges)
        findings += _too_many_failures(judges, most_failures)
    shared = _opinions(result) if result.profile == "native" and replicates else None
    if shared is not None:
        table = agreement(
            shared, rater="judge", label="verdict", unit="qID", video="video", replicates=replicates, seed=seed
        ).table
        added["judge_agreement"] = tables.JUDGE_AGREEMENT.frame(table)
    return replace(result, findings=(*result.findings, *findings), tables={**result.tables, **added})


def _too_many_failures(judges: pl.DataFrame, most: float) -> list[Finding]:
    """The judges that failed on more than a share of their cases, as an error."""
    failing = judges.filter(pl.col("failed") > most * pl.col("cases"))["judge"].to_list()
    text = f"above --max judge_failures={most:g}: {', '.join(failing)}; run again to ask what failed"
    return [Finding("judge-failures", Severity.ERROR, text)] if failing else []


def _opinions(result: ScoreResult) -> pl.DataFrame | None:
    """Who said what about which answer of which video; None unless two judges have an opinion on one answer.

    Official profiles stop asking once the majority stands, so agreement there would be that of chosen answers.
    """
    rows = [
        {"qID": row["qID"], "judge": row["judge"], "verdict": str(row["verdict"])}
        for row in result.verdicts
        if row["verdict"] is not None
    ]
    if not rows:
        return None
    frame = pl.DataFrame(rows)
    if not frame.group_by("qID").len()["len"].max() > 1:  # type: ignore[operator]
        return None
    return frame.join(result.results.select("qID", "video"), on="qID", how="left", maintain_order="left")


@requested("score", files=("requests", "references", "responses", "train_requests", "train_references", "definitions"))
def score(
    requests: Sources,
    references: Sources,
    responses: Sources,
    *,
    model: str | None = None,
    profile: str = "native",
    track: str | None = None,
    max_latency_s: float | None = None,
    judges: Sequence[str | Judge] = (),
    store: str | Path | None = None,
    quorum: int | None = None,
    prices: Sequence[float] = (),
    max_judge_failures: float = 0.05,
    judge_tokens: int | None = None,
    judge_timeout_s: float | None = None,
    definitions: str | Path | None = None,
    ood: str = "stated",
    train_requests: Sources | None = None,
    train_references: Sources | None = None,
    missing: Missing = None,
    context_s: Sequence[float] = CONTEXT_S,
    method: str = AUTO,
    replicates: int = 1000,
    seed: int = 42,
    progress: Callable[[int], None] | None = None,
) -> ScoreResult:
    """The scores of one model's responses.

    Args:
        requests: The questions: a path, `NAME=PATH` (a namespace), a table of polars, pandas or Arrow, several of
            these, dictionaries or `VerbRequest`s.
        references: The reference answers, given alike.
        responses: The model's answers, given alike.
        model: The model's name in tables; that of the file of responses if left out.
        profile: `native`, or a version of the official toolkit; see `PROFILES`.
        track: Applies the time limit of `frame`, `segment` or `procedure`.
        max_latency_s: A time limit of one's own; not together with `track`.
        judges: Up to three judges of free text, as `none`, `exact`, `cached:FILE`,
            `openai:MODEL@URL`, `local:PATH` or `Judge` objects. Without one, free text is not scored.
        store: A folder that keeps verdicts between runs, so that nothing is asked twice (a file of an earlier
            version is read as well). Without one, a run that is interrupted begins anew.
        quorum: Opinions that a decision on free text needs; by default more than half of the judges.
        prices: Per million tokens, one for each judge; `judges.csv` then says what each cost.
        max_judge_failures: Share of its cases above which a judge that failed is an error among the findings; what it
            failed on is asked again by the next run.
        judge_tokens: Room for a reply of judges that are named; not under official profiles, which have their own.
        judge_timeout_s: For one reply of a server; likewise.
        definitions: A foreign-object definitions file; its classes become the legal ones.
        ood: How OOD is decided: `stated` in the file, or derived (`procedure`, `template`, `either`,
            `center`) from what the training questions contain.
        train_requests: Training questions, for a derived `ood`.
        train_references: Training references, for `ood="center"`.
        missing: What questions without a verdict count as (native profile), by status as in every verb:
            `"judge_abstained=drop-score"`, `{"not_judged": "worst"}`. By default an abstention is wrong, and what was
            not judged leaves no primary result. `"error"` refuses questions without response, which are wrong
            otherwise.
        context_s: Lengths in seconds that tell short, medium and long contexts apart (native profile).
        method: Of the intervals of the native profile, as for `interval`; official profiles have their own.
        replicates: Bootstrap resamples behind every interval, where a method draws.
        seed: Of the random streams.
        progress: Called with the number of further free-text answers that were judged; a `Meter` counts verdicts.

    Raises:
        Misuse: An option that cannot mean anything.
        WrongFile: A file is recognisably another one, or answers none of the questions.
        QuestionsInvalid: The question set contradicts itself.
        OfficialAborts: The official toolkit would stop (official profiles only).
        ResponsesMissing: Questions have no response and `missing="error"`, or there is none at all.
    """
    chosen = profile_named(profile)
    model = model_name(model, responses)
    if not model.strip() or not is_whole(model):
        raise Misuse(f"model must be a name, got {model!a}")
    if method not in METHODS:
        raise UnknownName("interval method", method, METHODS)
    check_replicates(replicates, least=1 if chosen.official else 0)
    check_seed(seed)
    check_context(context_s)
    limit = latency_limit_s(track, max_latency_s)
    if chosen.official and not (judge_tokens is None and judge_timeout_s is None):
        raise Misuse("official profiles give judges the toolkit's tokens and time; leave out those of your own")
    asked = open_judges(judges, tokens=judge_tokens, timeout_s=judge_timeout_s)
    check_prices(prices, len(asked))
    check_share(max_judge_failures)
    if chosen.official:
        asked = [in_official_protocol(judge) for judge in asked]
    verdicts = None if store is None else VerdictStore(store)
    panel = Panel(asked, store=verdicts, quorum=quorum, stops_early=chosen.official)
    kinds = None if definitions is None else read_definitions(definitions)
    class_names = None if kinds is None else tuple(kind.name for kind in kinds)
    settled = {
        "model": model,
        "profile": chosen.name,
        "max_latency_s": limit,
        "judges": [judge.name for judge in asked],
        "quorum": panel.quorum if asked else None,
    }
    settled |= {"release": named} if (named := releases_of(references, requests)) else {}
    people = people_on(_paths(references))
    given = zip((REQUESTS, REFERENCES, RESPONSES), (requests, references, responses), strict=True)
    requests, references, responses = (opened(sources, reading, keep=chosen.official) for reading, sources in given)
    log = FindingLog(KEPT_PER_CODE)
    if chosen.official:
        report = checked(requests, responses, references, class_names=class_names, log=log).report
        log.refuse_wrong_files()
        with closing(panel):
            result = score_official(
                requests,
                references,
                responses,
                model=model,
                profile=chosen,
                limit_s=limit,
                panel=panel,
                replicates=replicates,
                seed=seed,
                report=report,
                progress=progress,
            )
        return replace(
            with_judges(
                result, panel, prices=prices, most_failures=max_judge_failures, replicates=replicates, seed=seed
            ),
            request=VerbRequest(settled=settled),
        )
    options = NativeOptions(
        model=model,
        limit_s=limit,
        ood=ood,
        missing=MissingRules.of(missing),
        method=method,
        replicates=replicates,
        seed=seed,
        progress=progress,
        seen=_seen(train_requests, train_references, class_names),
        definitions=definitions_text() if kinds is None else definitions_text(kinds),
        context_s=context_s,
    )
    with closing(panel):
        # Nothing here holds on to what was read, so that it is gone once it is scored.
        result = score_native(
            _usable(checked(requests, responses, references, class_names=class_names, log=log, keep=True), log),
            panel=panel,
            options=options,
        )
    judged = with_judges(
        result, panel, prices=prices, most_failures=max_judge_failures, replicates=replicates, seed=seed
    )
    return replace(
        judged,
        tables={**judged.tables, **({"ceiling": people} if people.height else {})},
        findings=(*judged.findings, *said_of_people(people)),
        request=VerbRequest(settled=settled),
    )


def _usable(read: LintChecked, log: FindingLog) -> LintChecked:
    """What was read, unless it has no score: an unreadable file, a question set with errors, no response at all."""
    log.refuse_files()
    refuse_errors(read.questions.findings)
    if not read.questions.references:
        raise QuestionsInvalid("questions", ["none has a reference, so there is nothing to score"])
    if not read.report.responses:
        noticed = [short(finding) for finding in log.kept if finding.code in NO_ROWS]
        raise ResponsesMissing("responses", ["there is not a single response, so there is nothing to score", *noticed])
    return read


def _seen(
    train_requests: Sources | None, train_references: Sources | None, class_names: tuple[str, ...] | None
) -> SeenSides | None:
    if train_requests is None:
        return None
    training = load_questions(train_requests, train_references or (), class_names=class_names)
    return SeenSides.of(list(training.requests.values()), list(training.references.values()), training.class_names)


def releases_of(*sources: Any) -> list[str]:
    """The releases that files of questions lie in, by version and digest; none where they are in memory.

    Raises:
        FileUnreadable: A file is not as it was frozen.
    """
    paths = [path for some in sources for path in _paths(some)]
    homes = dict.fromkeys(home for path in paths for home in list(path.absolute().parents)[:3])
    frozen = [home for home in homes if (home / "release.json").is_file()]
    for home in frozen:
        refuse_altered(home, paths)
    listed = [read_json(home / "release.json") for home in frozen]
    return [f"version {release['version']}, {release['digest'][:16]}" for release in listed]


def _paths(sources: Any) -> list[Path]:
    listed = [sources] if isinstance(sources, str | Path) else sources if isinstance(sources, list | tuple) else []
    return [split_source(str(source))[1] for source in listed if isinstance(source, str | Path)]
