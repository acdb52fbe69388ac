"""Proposed instances are nearly pure, and every kind of inconsistency that was put in is found."""

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, annotate

from small_truth import small_truth
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.box_tables import SIDES, boxes_of
from surgvalid.questions.stages.consistency import KINDS, consistency_flags
from surgvalid.questions.stages.linking import affinity, propose_instances
from surgvalid.schema.procedures.tracks import EventKind


@cache
def procedures():
    careful = BoxAnnotator("careful", jitter=0.04, missed=0.03)
    return [
        annotate(
            small_truth(21, n, (5, 6)),
            careful,
            seed=4,
        ).procedure
        for n in range(4)
    ]


def clean() -> pl.DataFrame:
    return pl.concat(map(boxes_of, procedures())).sort("video", "second", maintain_order=True)


def flags(table, kind=None, **more) -> list[dict]:
    found = consistency_flags(table, **more)
    return (found if kind is None else found.filter(pl.col("kind") == kind)).to_dicts()


def purity(proposed: pl.DataFrame, by: str) -> float:
    joined = proposed.with_columns(truth=clean()["instance"])
    own = joined.group_by("video", by).agg(n=pl.len(), most=pl.col("truth").unique_counts().max())
    return own["most"].sum() / own["n"].sum()


def test_proposals_are_nearly_pure_and_long():
    proposed = propose_instances(clean().drop("instance"))
    assert purity(proposed.boxes, "instance") > 0.83
    runs = propose_instances(clean().drop("instance"), longest_gap_s=0).boxes
    count = [frame.select("video", "instance").n_unique() for frame in (proposed.boxes, runs)]
    assert count[0] < 0.8 * count[1], "bridging gaps joins what would stay in pieces"


def test_suggestions_join_pieces_of_one_object_more_often_than_chance():
    proposed = propose_instances(clean().drop("instance"))
    truth = proposed.boxes.with_columns(truth=clean()["instance"])
    owner = {
        key: own["truth"].mode().sort()[0] for key, own in truth.group_by("video", "instance", maintain_order=True)
    }
    right = [owner[r["video"], r["before"]] == owner[r["video"], r["after"]] for r in proposed.suggestions.to_dicts()]
    assert len(right) > 20
    assert np.mean(right[: len(right) // 2]) > 0.4
    assert proposed.suggestions["affinity"].is_sorted(descending=True)


def test_an_object_that_stays_in_view_is_one_instance_and_two_far_apart_are_two():
    rows = [
        {"video": "v", "second": s, "class_name": "Clip", "x": x + s, "y": 5.0, "width": 10, "height": 10}
        for s in range(20)
        for x in (0, 200)
        if not 8 <= s < 11
    ]
    proposed = propose_instances(rows)
    assert proposed.boxes.group_by("instance").len().sort("instance").rows() == [("Clip 1", 17), ("Clip 2", 17)]
    assert proposed.links["gap_s"].to_list() == [3, 3]
    with pytest.raises(Misuse, match="gap"):
        propose_instances(rows, longest_gap_s=-1)


def test_sound_annotations_have_hardly_any_flag():
    events = {procedure.video: procedure.events for procedure in procedures()}
    found = consistency_flags(clean(), events=events)
    assert found.height < 0.01 * clean().height
    assert found.filter(pl.col("strength") > 0.5).height <= 3
    assert not set(found["kind"]) & {"class_flip", "overlap", "before_insertion", "after_retrieval"}


def exchanges() -> list[tuple[str, int, str, str]]:
    """Seconds in which two objects of a class stay in view while the camera is still."""
    found = []
    for procedure in procedures():
        for i, one in enumerate(procedure.tracks):
            for other in procedure.tracks[i + 1 :]:
                if one.class_name != other.class_name:
                    continue
                both = np.intersect1d(one.seconds, other.seconds)
                for second in both[1:][np.diff(both) == 1][::15].tolist():
                    fits = [
                        affinity(np.array([t.point_at(second - 1).box]), np.array([t.point_at(second).box]))[0, 0]
                        for t in (one, other)
                    ]
                    if min(fits) > 0.75:
                        found.append((procedure.video, second, one.instance, other.instance))
    return found


def test_objects_that_swap_names_in_view_are_found():
    wanted = exchanges()[:40]
    hits = 0
    for video, second, one, other in wanted:
        names = pl.col("instance").replace({one: other, other: one})
        later = pl.col("second") >= second
        table = clean().filter(pl.col("video") == video)
        table = table.with_columns(pl.when(later).then(names).otherwise("instance").alias("instance"))
        near = table.filter(pl.col("second").is_between(second - 3, second + 3))
        hits += any(
            f["second"] == second and {f["instance"], f["other"]} == {one, other} and f["strength"] > 0.5
            for f in flags(near, "identity_switch")
        )
    assert len(wanted) > 20
    assert hits / len(wanted) > 0.85


def test_a_box_far_off_is_a_teleport():
    table = clean().with_row_index()
    steady = table.filter(
        (pl.col("second").diff() == 1).over("video", "instance"), pl.col("x") < 240, pl.col("width") < 40
    )["index"].to_list()[::60]
    keys = table.filter(pl.col("index").is_in(steady)).select("video", "second", "instance").rows()
    moved = table.with_columns(
        pl.when(pl.col("index").is_in(steady)).then(470.0 - pl.col("width")).otherwise("x").alias("x")
    )
    found = {(f["video"], f["second"], f["instance"]) for f in flags(moved, "teleport")}
    assert len(keys) > 10
    assert len(found & set(keys)) / len(keys) > 0.6, "what moves less than six diagonals, or with all others, is none"


def test_a_pan_that_moves_everything_is_no_teleport():
    def row(second, x, instance):
        return {
            "video": "v",
            "second": second,
            "class_name": "Clip",
            "x": x,
            "y": 0,
            "width": 10,
            "height": 10,
            "instance": instance,
        }

    pan = [row(s, 300 * s + 40 * n, f"c{n}") for s in (0, 1) for n in range(3)]
    assert flags(pan, "teleport") == []
    assert [f["instance"] for f in flags([row(0, 0, "c0"), row(1, 300, "c0")], "teleport")] == ["c0"]


def test_one_object_drawn_twice_is_an_overlap():
    tracks = [track for track in procedures()[0].tracks if len(track) > 10]
    for track in tracks:
        own = clean().filter(pl.col("video") == procedures()[0].video)
        twin = own.filter(pl.col("instance") == track.instance).with_columns(pl.col("x") + 0.5, instance=pl.lit("twin"))
        found = flags(pl.concat([own, twin]), "overlap")
        assert [{f["instance"], f["other"]} for f in found] == [{track.instance, "twin"}]


def test_a_class_that_flips_is_found_at_its_second():
    own = clean().filter(pl.col("video") == procedures()[0].video)
    instance = own["instance"].mode().sort()[0]
    second = int(own.filter(pl.col("instance") == instance)["second"].median())
    changed = (pl.col("instance") == instance) & (pl.col("second") == second)
    table = own.with_columns(pl.when(changed).then(pl.lit("Mesh")).otherwise("class_name").alias("class_name"))
    found = flags(table, "class_flip")
    assert [f["instance"] for f in found] == [instance, instance]
    assert found[0]["second"] == second


def test_sightings_before_insertion_and_after_retrieval_are_found():
    for procedure in procedures():
        seen = {t.instance: t.seconds[t.in_view] for t in procedure.tracks if t.in_view.sum() > 4}
        wanted, events = set(), []
        for event in procedure.events:
            own = seen.get(event.instance)
            if own is not None and event.kind is EventKind.INSERTED:
                event = replace(event, second=int(own[2]))
                wanted.add(("before_insertion", event.instance, int(own[0])))
            elif own is not None and event.kind is EventKind.RETRIEVED:
                event = replace(event, second=int(own[-3]))
                wanted.add(("after_retrieval", event.instance, int(own[-2])))
            events.append(event)
        found = flags(boxes_of(procedure), events={procedure.video: events})
        assert {(f["kind"], f["instance"], f["second"]) for f in found if f["kind"] in KINDS[-2:]} == wanted


def test_an_instance_with_two_boxes_in_one_second_is_refused():
    with pytest.raises(TableInvalid, match="has 2 boxes in second"):
        consistency_flags(pl.concat([clean().head(1)] * 2))
    assert set(SIDES) < set(clean().columns)
