"""The FOCUS ranking: significance in buckets, Copeland over buckets, win rates for ties at the top.

Source: FOCUS challenge document, "Method used to compute a performance rank". The document leaves
many points open; every resolution is listed in `docs/concepts/ranking-rules.md`.

The decision a reader would question: significant differences are handed to Copeland pair by pair
(`merge="pairwise"`), because no ranking of a bucket can obey "not significant means same rank" without
either collapsing or inventing differences. All other merge rules are options, and the final ranks under all
of them are always reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.tables import ranking
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import CORRECTIONS, TESTS
from surgvalid.stats.comparing.rank_sets import RankSets
from surgvalid.stats.draws import stream
from surgvalid.stats.ranking._focus import gate, tables
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard, Prepared, prepare
from surgvalid.stats.ranking._focus.firmness import firmness_findings, influence, possible_ranks
from surgvalid.stats.ranking._focus.gate import prizes
from surgvalid.stats.ranking._focus.merge import DEFAULT_TEST
from surgvalid.stats.ranking._focus.stability import Replicates, broken_places, counts_of, replicate, video_lists
from surgvalid.stats.ranking._focus.standing import (
    Standing,
    bucket_weights,
    places_under_every_merge,
    standing,
)
from surgvalid.stats.ranking._options import MERGES, RankOptions
from surgvalid.stats.ranking.result import RankResult
from surgvalid.stats.threads import one_thread

BOOT = 10_000


@one_thread
def focus(table: ScoreTable, options: RankOptions) -> RankResult:
    """The leaderboards of a challenge, with their evidence and their stability."""
    ready = prepare(table, options)
    boot = BOOT if options.replicates is None else options.replicates
    members = _members(ready.boards[0], options)
    standings = [standing(board, members, options, replicates=boot or BOOT) for board in ready.boards]
    drawn = _drawn(standings, options, boot, ready)
    sets = [possible_ranks(f.board, f.members, options) for f in standings]
    results, notes = _tables(standings, drawn, sets, options, ready)
    records: dict[str, Any] = {"gate": gate.decision(results["gate_evidence"], options.baselines)}
    records["structure"] = {f.board.name: _structure(f, d) for f, d in zip(standings, drawn, strict=True)}
    firm = [one for f, s in zip(standings, sets, strict=True) for one in firmness_findings(f, s, options)]
    findings: list[Finding] = [
        *ready.findings,
        *(w for f in standings for w in _findings(f, options)),
        *firm,
        *notes,
    ]
    return RankResult(
        rule="focus",
        main="places",
        tables=results,
        prose=_prose(standings, ready, options, boot),
        findings=tuple(findings),
        records=records,
    )


def _members(board: FocusLeaderboard, options: RankOptions) -> np.ndarray:
    """The competitors: everyone who is neither a baseline nor named as outside."""
    for kind, names in (("baseline", options.baselines), ("outside", options.outside), ("unpaid", options.unpaid)):
        for name in names:
            if name not in board.models:
                raise UnknownName(f"model (given as {kind})", name, board.models)
    out = {*options.baselines, *options.outside}
    members = np.array([i for i, name in enumerate(board.models) if name not in out], dtype=np.int64)
    if not len(members):
        raise Misuse("every model is a baseline or outside the competition; nobody is left to rank")
    groups = {bucket.capability for bucket in board.buckets}
    for name in options.bucket_weights or {}:
        if name not in groups:
            raise UnknownName("capability group in the bucket weights", name, groups)
    if not bucket_weights(board, options).sum() > 0:
        raise Misuse("all buckets have weight 0; give at least one of them some weight")
    return members


def _drawn(standings: list[Standing], options: RankOptions, boot: int, ready: Prepared) -> list[Replicates | None]:
    """The joint bootstrap of every leaderboard, all from the same draws of videos, with the tie-break inside."""
    if not boot:
        return [None] * len(standings)
    lists = video_lists(len(ready.video_names), boot, stream(options.seed, "ranking", "stability"))
    return [_repeated(f, options, lists) for f in standings]


def _repeated(standing: Standing, options: RankOptions, lists: np.ndarray) -> Replicates:
    """The whole published rule on every list of videos."""
    board, members, weights = standing.board, standing.members, standing.weights
    drawn = replicate(board, members, weights, options, counts_of(lists))
    macro = drawn.macro[:, members]
    return replace(drawn, place=broken_places(board, members, weights, lists, drawn.place, macro, seed=options.seed))


def _tables(
    standings: list[Standing],
    drawn: list[Replicates | None],
    sets: list[RankSets],
    options: RankOptions,
    ready: Prepared,
) -> tuple[dict[str, pl.DataFrame], list[Finding]]:
    baselines = set(options.baselines)
    both = list(zip(standings, drawn, strict=True))
    results = {
        "places": pl.concat([tables.places_table(f, baselines) for f in standings]),
        "buckets": pl.concat([tables.buckets_table(f) for f in standings]),
        "pairs": pl.concat([tables.pairs_table(f) for f in standings]),
    }
    resampled: dict[str, Callable[[Standing, Replicates], pl.DataFrame]] = {
        "stability": tables.stability_table,
        "place_frequencies": tables.frequencies_table,
        "tau_frequencies": tables.tau_table,
    }
    for name, make in resampled.items():
        frames = [make(f, d) for f, d in both if d is not None]
        if frames:
            results[name] = pl.concat(frames)
    summaries = zip(standings, drawn, sets, strict=True)
    results["summary"] = pl.concat([tables.summary_table(f, d, s, alpha=options.alpha) for f, d, s in summaries])
    results["dominance"] = pl.concat([tables.dominance_table(f) for f in standings])
    results["differences"] = pl.concat([tables.differences_table(f) for f in standings])
    results["sensitivity"] = pl.concat([_sensitivity(f, options) for f in standings])
    results["influence"] = pl.concat([influence(f, options, ready.video_names) for f in standings])
    results["gate_evidence"] = pl.concat(
        [gate.evidence_table(f.board, f.members, options.baselines) for f in standings]
    )
    results["leads"] = pl.concat([tables.leads_table(f) for f in standings])
    results["challenger"] = tables.challenger_table(standings[0], ready.video_names)
    notes: list[Finding] = []
    if options.prize_pool is not None:
        awards = [_prizes(f, options, options.prize_pool) for f in standings]
        results["prizes"] = pl.concat([frame for frame, _ in awards])
        notes = [note for _, notes in awards for note in notes]
    return results, notes


def _prizes(standing: Standing, options: RankOptions, pool: float) -> tuple[pl.DataFrame, list[Finding]]:
    above = gate.above_all(standing.board, standing.members, options.baselines)
    return prizes(standing.board.name, standing.names, standing.place, above, options.unpaid, pool)


def _sensitivity(standing: Standing, options: RankOptions) -> pl.DataFrame:
    places = places_under_every_merge(standing, options)
    names = {"board": [standing.board.name] * len(standing.names), "model": standing.names}
    frame = ranking.SENSITIVITY.frame({**names, **places})
    return frame.sort(options.merge, "model")


def _structure(standing: Standing, drawn: Replicates | None) -> dict[str, Any]:
    """Winner, cycles, ties and the firmness of the order of one leaderboard, as plain data."""
    winner = standing.merged.condorcet_winner
    names = standing.names
    return {
        "condorcet_winner": None if winner is None else names[winner],
        "cycles": [[names[i] for i in cycle] for cycle in standing.merged.cycles],
        "ties": [
            {
                "models": [names[i] for i in tie.models],
                "win_rate": tie.win_rate.tolist(),
                "place": tie.place.tolist(),
                "replicates": tie.replicates,
                "ordered_by_macro_accuracy": tie.by_macro,
                "unresolved": tie.unresolved,
            }
            for tie in standing.ties
        ],
        "same_order_with_everyone": standing.order_with_all,
        "stability": None if drawn is None else tables.spread_record(standing, drawn),
    }


def _findings(standing: Standing, options: RankOptions) -> list[Finding]:
    board = f"{standing.board.name} leaderboard"
    out: list[Finding] = []
    if cycles := standing.merged.cycles:
        listed = "; ".join(", ".join(standing.names[i] for i in cycle) for cycle in cycles)
        out.append(remark("cycle", "models dominate each other in a circle", subject=f"{board} ({listed})"))
    if not standing.order_with_all:
        text = "the order of the competitors changes when the others compete too"
        out.append(remark("order-depends-on-others", text, subject=board))
    for tie in standing.ties:
        tied = ", ".join(standing.names[i] for i in tie.models)
        if tie.unresolved:
            out.append(remark("tie-unresolved", f"{tied} stay partly tied after the tie-break", subject=board))
        elif tie.by_macro:
            text = f"macro accuracy, not the win rate, separates some of {tied}"
            out.append(remark("tie-by-macro-accuracy", text, subject=board))
    if warning := TESTS[options.test or DEFAULT_TEST].warning:
        out.append(remark("test", warning, subject=f"test '{options.test}'"))
    return out


def _prose(standings: list[Standing], ready: Prepared, options: RankOptions, boot: int) -> str:
    test, correction = TESTS[options.test or DEFAULT_TEST], options.correction or "holm"
    methods = sorted({run.method for f in standings for run in f.evidence.tests})
    boards = " and ".join(
        f"the {f.board.name} leaderboard ({len(f.board.buckets)} buckets,"
        f" {sum(len(b.scores.values) for b in f.board.buckets)} questions)"
        for f in standings
    )
    ties = max((tie.replicates for f in standings for tie in f.ties), default=0)
    parts = [
        f"{len(standings[0].members)} models were ranked on {boards} from {len(ready.video_names)} videos.",
        f"In each bucket (capability group, in or out of distribution) every pair of models was compared by the"
        f" {test.title} ({'; '.join(methods)}), two-sided, with the {test.unit} as the independent unit, at level"
        f" {options.alpha:g} ({CORRECTIONS[correction].split(':')[0]}, within each bucket).",
        f"Merge rule '{options.merge}': {MERGES[options.merge]}; buckets were merged by Copeland's rule with"
        f" {'equal' if not options.bucket_weights else 'given'} weights.",
        f"Ties touching the first three final ranks were broken by the win rate among the tied models over {ties}"
        f" resamples of whole videos per bucket (seed {options.seed})."
        if ties
        else "No tie touched the first three final ranks.",
        f"Baselines and others outside the competition ({', '.join((*options.baselines, *options.outside))}) were"
        " not ranked; their final rank is the one each would take if it alone were added."
        if options.baselines or options.outside
        else "No entry was outside the competition.",
        f"Missing scores: {ready.treatment}",
        "Accuracies are means over questions; their 95 % intervals leave out one video at a time (logit scale), those"
        " of differences invert the sign-flip test. The ranks by macro accuracy that a model can have come from"
        f" joint sign flips of whole videos, min-p over all pairs, and hold together at level {1 - options.alpha:g}.",
        f"The stability of final ranks is from {boot} resamples of whole videos (seed {options.seed}) that repeat "
        "the rule with the studentised form of the test and with the tie-break; it is pessimistic because tests "
        "inside a"
        " bootstrap find too many differences, and a share of first final ranks is no probability of being the best."
        if boot
        else "No resampling was asked for, so no stability is given.",
    ]
    return " ".join(parts)
