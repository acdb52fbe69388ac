import polars as pl

from chart_examples_analysis import procedure, timeline_rows
from chart_reading import marks_of, row_order
from surgvalid.report.charts.procedure_lanes import timeline, timeline_table
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.tracks import Detail, Event, EventKind, Procedure, track_from_points
from surgvalid.schema.questions.questions import Request
from surgvalid.simulation.simulate import simulate


def _request(case: str, start_s: float, end_s: float, video: str = "video 1") -> Request:
    return Request(case, video, start_s, end_s, "x", "How many?")


def test_views_of_the_table_are_those_of_the_ledger() -> None:
    for one in simulate(2, seed=1, minutes=(5.0, 8.0)).procedures():
        table, ledger = timeline_table(one), Ledger(one)
        for entry in ledger.entries:
            part = table.filter((pl.col("lane") == entry.instance) & (pl.col("kind") == "visible"))
            assert part.select("start_s", "end_s").rows() == [tuple(map(float, span)) for span in entry.views]


def test_states_of_the_table_are_those_of_the_ledger() -> None:
    one = next(simulate(1, seed=4, minutes=(10.0, 12.0)).procedures())
    table, ledger = timeline_table(one), Ledger(one)
    states = table.filter(pl.col("kind") == "state")
    for entry in ledger.entries:
        own = states.filter(pl.col("lane") == entry.instance)
        for second in range(0, one.duration_s, 13):
            shown = own.filter((pl.col("start_s") <= second) & (pl.col("end_s") > second))["what"].to_list()
            state = ledger.state(entry.instance, second).value
            assert shown == ([] if state in ("not_yet", "retrieved") else [state])


def test_lanes_follow_the_order_in_which_objects_come() -> None:
    table = timeline_rows(["late", "early"])
    lanes = table.filter(pl.col("class_name").is_not_null())["lane"].unique(maintain_order=True).to_list()
    assert lanes == ["late #0", "early #1"]
    chart = timeline(table, video="video 1")
    assert row_order(chart)[:3] == ["phases", "Sponge late #0", "Sponge early #1"]
    assert "2 objects (2 Sponge); 4 events; 2 questions" in chart.alt


def test_questions_that_overlap_get_lanes_of_their_own_and_others_share_one() -> None:
    asked = [_request("a", 0, 50), _request("b", 10, 20), _request("c", 30, 60), _request("d", 51, 51)]
    table = timeline_table(procedure(["x"]), questions=[*asked, _request("e", 0, 5, "another")])
    lanes = dict(table.filter(pl.col("kind") == "question").select("what", "lane").iter_rows())
    assert lanes == {"a": "questions 1", "b": "questions 2", "c": "questions 2", "d": "questions 1"}


def test_windows_that_share_a_second_never_share_a_lane() -> None:
    table = timeline_table(
        procedure(["x"]), questions=[_request("a", 0, 50), _request("b", 50, 60), _request("c", 51, 55)]
    )
    lanes = dict(table.filter(pl.col("kind") == "question").select("what", "lane").iter_rows())
    assert lanes == {"a": "questions 1", "b": "questions 2", "c": "questions 1"}


def test_single_frames_are_ticks_and_windows_are_lines() -> None:
    asked = [_request("a", 0, 50), _request("d", 90, 90)]
    chart = timeline(timeline_table(procedure(["x"]), questions=asked))
    asked_marks = {mark.words.split(":")[0]: mark for label, mark in marks_of(chart) if label.startswith("questions")}
    assert {name: mark.shape for name, mark in asked_marks.items()} == {"a": "box", "d": "tick"}


def test_events_that_the_views_show_already_are_not_drawn_twice() -> None:
    track = track_from_points("s1", "Sponge", [(t, (0, 0, 9, 9)) for t in range(3, 9)])
    events = (Event(EventKind.INSERTED, 3, "s1", {Detail.PLACE: "liver"}), Event(EventKind.FIRST_SEEN, 3, "s1"),
              Event(EventKind.LEFT_VIEW, 9, "s1"))  # fmt: skip
    table = timeline_table(Procedure("v", "Hernia", "A", 20, 64, 48, (track,), events))
    assert table.filter(pl.col("kind") == "event").height == 3
    events_drawn = [mark.words for _, mark in marks_of(timeline(table)) if mark.shape != "box"]
    assert events_drawn == ["inserted: 3 to 3 s"]


def test_an_object_nobody_ever_tells_of_keeps_its_lane() -> None:
    ghost = track_from_points("g1", "Needle", [])
    table = timeline_table(Procedure("v", "Hernia", "A", 20, 64, 48, (ghost,)))
    assert row_order(timeline(table)) == ["Needle g1"]


def test_minutes_are_drawn_and_seconds_are_saved() -> None:
    table = timeline_rows(["x"])
    chart = timeline(table)
    assert chart.data.equals(table)
    assert [mark.high for label, mark in marks_of(chart, "box") if label == "phases"][:2] == [5.0, 10.0]


def test_too_many_objects_are_cut_and_that_is_said() -> None:
    chart = timeline(timeline_rows([f"n{i}" for i in range(105)]))
    assert "The first 100 of 105 objects are shown" in chart.caption
    assert len([label for label in row_order(chart) if label.startswith("Sponge")]) == 100
