"""An item is confirmed only when two people who did not make it approved what stands now."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse, TableInvalid
from surgvalid.questions.stages.history import Action, History, ReviewState, history_from

P, C, A, NO, *_ = Action


def story(*steps: tuple[Action, str]) -> History:
    history = History()
    for number, (action, who) in enumerate(steps):
        change = {"field": "class_name", "before": "Clip", "after": "Needle"} if action is C else {}
        history = history.add("x", action, who, at=f"{number:03}", **change)
    return history


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([(P, "ann")], "proposed"),
        ([(P, "ann"), (A, "ann")], "proposed"),
        ([(P, "ann"), (A, "bob")], "verified"),
        ([(P, "ann"), (A, "bob"), (A, "bob")], "verified"),
        ([(P, "ann"), (A, "bob"), (A, "eve")], "confirmed"),
        ([(P, "ann"), (A, "bob"), (A, "eve"), (C, "bob")], "proposed"),
        ([(P, "ann"), (C, "bob"), (A, "bob"), (A, "ann")], "verified"),
        ([(P, "ann"), (A, "bob"), (NO, "eve")], "disputed"),
        ([(P, "ann"), (NO, "eve"), (A, "eve"), (A, "bob")], "confirmed"),
        ([(P, "ann"), (NO, "eve"), (C, "ann")], "proposed"),
    ],
)
def test_the_state_follows_from_who_did_what(steps, state):
    assert story(*steps).state("x").value == state
    assert story(*steps).states() == {"x": ReviewState(state)}


@given(st.lists(st.tuples(st.sampled_from([C, A, NO]), st.sampled_from("abc")), max_size=12))
def test_confirmed_means_two_others_approved_since_the_last_change(steps):
    history = story((P, "a"), *steps)
    own = history.of("x")
    start = max(i for i, entry in enumerate(own) if entry.action in (P, C))
    voters = {
        entry.who: entry.action for entry in own[start + 1 :] if entry.action is NO or entry.who != own[start].who
    }
    approvals = [action for action in voters.values() if action is A]
    confirmed = len(approvals) >= 2 and NO not in voters.values()
    assert (history.state("x") is ReviewState.CONFIRMED) == confirmed


def test_a_history_survives_its_table(tmp_path):
    history = story((P, "ann"), (C, "bob"), (A, "eve"))
    history.table().write_csv(tmp_path / "history.csv")
    assert history_from(pl.read_csv(tmp_path / "history.csv", infer_schema=False)) == history
    assert history_from(History().table()) == History()


def test_entries_that_cannot_follow_are_refused_all_at_once():
    with pytest.raises(Misuse, match="never proposed"):
        History().add("x", A, "ann", at="1")
    with pytest.raises(Misuse, match="two different values"):
        story((P, "ann")).add("x", C, "bob", at="9", field="box")
    with pytest.raises(Misuse, match="nobody ever proposed"):
        History().state("x")
    rows = [
        {"item": "x", "action": "approved", "who": "a", "at": "2"},
        {"item": "x", "action": "eaten", "who": "a", "at": "1"},
    ]
    with pytest.raises(TableInvalid) as caught:
        history_from(rows)
    assert len(caught.value.problems) == 2
