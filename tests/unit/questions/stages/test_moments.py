"""Moments of importance: what raters settle, what is queued, and what a procedure may then declare."""

from __future__ import annotations

import polars as pl
import pytest

from surgvalid.errors import TableInvalid
from surgvalid.questions.stages.moments import KINDS, moment_form, settle_moments, with_moments
from surgvalid.questions.template import needed_events
from surgvalid.schema.procedures.tracks import EventKind, Procedure, track_from_points

Rating = tuple[str, str, str, str, int | None]
BOX = (1, 2, 10, 10)
PROCEDURE = Procedure(
    "v", "T", "A", 100, 64, 48,
    (track_from_points("s1", "Sponge", [(10, BOX), (20, BOX)]), track_from_points("s2", "Sponge", [(30, BOX)])),
)  # fmt: skip


def ratings(*rows: Rating) -> pl.DataFrame:
    columns = {"instance": pl.String, "event": pl.String, "rater": pl.String, "happened": pl.String, "second": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(video=pl.lit("v"))


def of_both(
    event: str, first: tuple[str, int | None], second: tuple[str, int | None]
) -> list[tuple[str, str, str, str, int | None]]:
    return [(i, event, r, *said) for i, said in (("s1", first), ("s2", second)) for r in ("anna", "ben")]


def test_the_form_asks_every_object_every_kind() -> None:
    form = moment_form([PROCEDURE])
    assert form.height == 2 * len(KINDS)
    assert form.row(0, named=True)["first_seen_s"] == 10
    assert form["happened"].null_count() == form.height


def test_two_who_agree_settle_a_moment_by_their_median() -> None:
    said = ratings(("s1", "inserted", "anna", "yes", 8), ("s1", "inserted", "ben", "Yes", 11))
    row = settle_moments(said).table.row(0, named=True)
    assert (row["settled"], row["happened"], row["second"], row["spread_s"]) == (True, True, 9, 3)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("s1", "retrieved", "anna", "yes", 8)], "only one person"),
        ([("s1", "retrieved", "anna", "yes", 8), ("s1", "retrieved", "ben", "no", None)], "1 of 2 say"),
        ([("s1", "retrieved", "anna", "yes", 8), ("s1", "retrieved", "ben", "yes", 40)], "32 s apart"),
    ],
)
def test_everything_else_is_queued_with_the_reason(rows: list[Rating], reason: str) -> None:
    queue = settle_moments(ratings(*rows)).queue
    assert queue.height == 1
    assert reason in queue["reason"][0]


def test_a_kind_is_declared_only_where_it_is_settled_for_every_object() -> None:
    retrieved = of_both("retrieved", ("yes", 25), ("no", None))
    inserted = of_both("inserted", ("yes", 9), ("yes", 29))
    made = with_moments(PROCEDURE, settle_moments(ratings(*retrieved, *inserted[:3])))
    assert made.declared == ("retrieved",)
    assert made.open == ("inserted", "bagged", "left_in_situ")
    assert [(e.kind, e.second, e.instance) for e in made.procedure.events] == [(EventKind.RETRIEVED, 25, "s1")]
    assert needed_events(EventKind.RETRIEVED).missing_from(made.procedure) is None
    assert needed_events(EventKind.RETRIEVED).missing_from(PROCEDURE) is not None
    assert needed_events(EventKind.INSERTED).missing_from(made.procedure) is not None


def test_what_the_tracks_contradict_is_told() -> None:
    made = with_moments(PROCEDURE, settle_moments(ratings(*of_both("retrieved", ("yes", 15), ("no", None)))))
    assert made.contradictions == ("s1: seen at second 20, though it was retrieved at 15",)


def test_every_problem_of_the_ratings_is_listed() -> None:
    rows = (
        ("s1", "lost", "anna", "yes", 3),
        ("s1", "inserted", "anna", "perhaps", None),
        ("s1", "bagged", "a", "yes", None),
    )
    with pytest.raises(TableInvalid) as refused:
        settle_moments(ratings(*rows, ("s2", "bagged", "a", "no", None), ("s2", "bagged", "a", "no", None)))
    text = "\n".join(refused.value.problems)
    for problem in ("unknown event", "not yes or no", "has a second", "speaks 2 times"):
        assert problem in text
    with pytest.raises(TableInvalid, match="no instance 's9'"):
        with_moments(PROCEDURE, settle_moments(ratings(("s9", "bagged", "a", "no", None))))
