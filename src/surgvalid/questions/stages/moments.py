"""Stage 5, moments of importance: when each object came in and went out, from what several people say.

Tracks tell when an object is seen, not when it entered the body or left it: a sponge that is seen no more may lie
behind the liver. So people say it, object by object: the second of the event, or that it did not happen. An event is
settled when at least two people agree on whether it happened and, where it did, their times lie within the tolerance;
it then has the median of their times. Everything else is queued. A kind of event counts as annotated in a procedure
only where it is settled for every object, for only then does silence mean that nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import needed_columns
from surgvalid.schema.procedures.procedure_problems import contradictions
from surgvalid.schema.procedures.tracks import Event, EventKind, Procedure
from surgvalid.schema.tables.tabular import as_frame

KINDS = (EventKind.INSERTED, EventKind.RETRIEVED, EventKind.BAGGED, EventKind.LEFT_IN_SITU)
"""What is asked of every object."""
FORM = ("video", "instance", "class_name", "event", "first_seen_s", "last_seen_s", "rater", "happened", "second")
"""The columns of the form; raters fill in the last three."""
_SECONDS = ("first_seen_s", "last_seen_s", "second")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_MOMENTS: dict[str, Any] = {
    "video": pl.String,
    "instance": pl.String,
    "event": pl.String,
    "happened": pl.Boolean,
    "second": pl.Int64,
    "raters": pl.Int64,
    "spread_s": pl.Int64,
    "settled": pl.Boolean,
    "reason": pl.String,
}


def moment_form(procedures: Iterable[Procedure]) -> pl.DataFrame:
    """One row per object and kind of event, for a rater to fill in, with when the object is seen first and last."""
    rows = []
    for procedure in procedures:
        for track in procedure.tracks:
            seen = track.seconds[track.in_view]
            ends = (int(seen[0]), int(seen[-1])) if seen.size else (None, None)
            rows += [
                (procedure.video, track.instance, track.class_name, kind.value, *ends, None, None, None)
                for kind in KINDS
            ]
    kinds_of: dict[str, Any] = {name: pl.Int64 if name in _SECONDS else pl.String for name in FORM}
    return pl.DataFrame(rows, schema=kinds_of, orient="row")


@dataclass(frozen=True)
class MomentForm:
    """What raters say together."""

    table: pl.DataFrame
    """video, instance, event, happened, second, raters, spread_s, settled, reason."""

    @property
    def queue(self) -> pl.DataFrame:
        """What has to be looked at again."""
        return self.table.filter(~pl.col("settled"))


def settle_moments(ratings: Any, *, tolerance_s: int = 5) -> MomentForm:
    """What several raters say of every object and event, and whether they agree.

    Args:
        ratings: One row per rater, object and event: video, instance, event, rater, happened (yes or no), second.
        tolerance_s: How far apart the times of two raters may lie.

    Raises:
        TableInvalid: With every problem: unknown events, a rater twice, a time without an event or the reverse.
        Misuse: The tolerance is negative.
    """
    if tolerance_s < 0:
        raise Misuse(f"the tolerance must not be negative, got {tolerance_s}")
    frame = _checked(ratings)
    rows = []
    for (video, instance, event), votes in frame.group_by("video", "instance", "event", maintain_order=True):
        happened = votes["happened"].to_list()
        times = sorted(votes["second"].drop_nulls().to_list())
        spread = times[-1] - times[0] if times else None
        reason = _reason(happened, spread, tolerance_s)
        certain = not reason
        middle = int(np.median(times)) if all(happened) and times else None
        rows.append(
            (
                video,
                instance,
                event,
                happened[0] if len(set(happened)) == 1 else None,
                middle if certain else None,
                votes.height,
                spread,
                certain,
                reason,
            )
        )
    return MomentForm(pl.DataFrame(rows, schema=_MOMENTS, orient="row"))


def _reason(happened: list[bool], spread: int | None, tolerance_s: int) -> str:
    if len(happened) < 2:
        return "only one person said something"
    if len(set(happened)) > 1:
        return f"{sum(happened)} of {len(happened)} say that it happened"
    if spread is not None and spread > tolerance_s:
        return f"times are {spread} s apart"
    return ""


def _checked(ratings: Any) -> pl.DataFrame:
    given = as_frame(ratings)
    if "happened" in given.columns:
        given = given.filter(pl.col("happened").is_not_null())
    frame = needed_columns(given, ("video", "instance", "event", "rater", "happened"), "moments")
    seconds = given["second"] if "second" in given.columns else pl.Series([None] * given.height, dtype=pl.Int64)
    words = frame["happened"].cast(pl.String).str.to_lowercase().str.strip_chars()
    frame = frame.with_columns(happened=words, second=seconds.cast(pl.Float64, strict=False)).cast({"rater": pl.String})
    problems = []
    kinds = [kind.value for kind in EventKind]
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        title = f"row {number} ({row['video']}, {row['instance']}, {row['event']})"
        if row["event"] not in kinds:
            problems.append(f"{title}: unknown event; known: {', '.join(kinds)}")
        if row["happened"] not in (*_YES, *_NO):
            problems.append(f"{title}: happened is {row['happened']!r}, not yes or no")
        second = row["second"]
        if (row["happened"] in _YES) != (second is not None):
            problems.append(f"{title}: an event that happened has a second, one that did not has none")
        elif second is not None and (second < 0 or second % 1):
            problems.append(f"{title}: {second:g} is no second of a video")
    twice = frame.group_by("video", "instance", "event", "rater").len().filter(pl.col("len") > 1)
    problems += [
        f"rater {r['rater']!r} speaks {r['len']} times of {r['instance']!r}, {r['event']}" for r in twice.to_dicts()
    ]
    if problems:
        raise TableInvalid("moments", problems)
    return frame.with_columns(happened=pl.col("happened").is_in(_YES), second=pl.col("second").cast(pl.Int64))


@dataclass(frozen=True)
class Enriched:
    """A procedure with its settled moments."""

    procedure: Procedure
    declared: tuple[str, ...]
    """Kinds of events that are settled for every object, and so declared as annotated."""
    open: tuple[str, ...]
    """Kinds that were asked and are not."""
    contradictions: tuple[str, ...]


def with_moments(procedure: Procedure, moments: MomentForm) -> Enriched:
    """The procedure with the settled events, which replace those of the same kinds.

    A kind that is not settled for every object is not declared, and events of that kind are left out: of the others
    nobody knows whether it happened.

    Raises:
        TableInvalid: Moments of an object that the procedure does not have.
    """
    here = moments.table.filter(pl.col("video") == procedure.video)
    known = {track.instance for track in procedure.tracks}
    if strangers := sorted(set(here["instance"]) - known):
        raise TableInvalid("moments", [f"video {procedure.video!r} has no instance {name!r}" for name in strangers])
    settled = here.filter("settled")
    settled_of = {kind: set(settled.filter(pl.col("event") == kind.value)["instance"]) for kind in KINDS}
    complete = tuple(kind for kind in KINDS if settled_of[kind] >= known)
    events = [event for event in procedure.events if event.kind not in KINDS]
    events += [
        Event(EventKind(row["event"]), row["second"], row["instance"], _details(procedure, row))
        for row in settled.filter("happened").iter_rows(named=True)
        if row["event"] in complete
    ]
    asked = procedure.annotated
    words = (*(kind for kind in asked.events if kind not in KINDS), *(kind.value for kind in complete))
    made = replace(procedure, events=tuple(events), declared=replace(asked, events=tuple(words)))
    open_ = tuple(kind.value for kind in KINDS if kind not in complete)
    return Enriched(made, tuple(kind.value for kind in complete), open_, tuple(contradictions(made)))


def _details(procedure: Procedure, row: dict[str, Any]) -> dict[str, str]:
    """What was told of the event before, such as the bag that received the object."""
    same = (e for e in procedure.events if e.kind == row["event"] and e.instance == row["instance"])
    return dict(next((event.details for event in same), {}))
