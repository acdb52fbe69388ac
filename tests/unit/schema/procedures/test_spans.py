"""Spans and steps agree with plain sets of seconds."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.schema.procedures.spans import Spans, Steps, Window

SETS = st.sets(st.integers(0, 40))
WINDOWS = st.tuples(st.integers(0, 42), st.integers(0, 42)).map(lambda pair: Window(min(pair), max(pair)))


def spans(seconds: set[int]) -> Spans:
    return Spans.of_seconds(np.array(sorted(seconds), dtype=np.int64))


def inside(seconds: set[int], window: Window) -> list[int]:
    return sorted(s for s in seconds if window.start_s <= s <= window.end_s)


@given(SETS)
def test_runs_hold_exactly_their_seconds(seconds):
    found = spans(seconds)
    assert found.seconds.tolist() == sorted(seconds)
    assert [s for s in range(-1, 42) if found.has(s)] == sorted(seconds)
    assert (found.starts[1:] > found.ends[:-1]).all()


@given(SETS, WINDOWS)
def test_a_window_cuts_the_set(seconds, window):
    found, expected = spans(seconds), inside(seconds, window)
    assert found.within(window).seconds.tolist() == expected
    assert found.seconds_in(window) == len(expected)
    assert found.first_in(window) == (expected[0] if expected else None)
    assert found.last_in(window) == (expected[-1] if expected else None)


@given(SETS, WINDOWS, st.integers(1, 5))
def test_gaps_lie_between_two_appearances(seconds, window, least_s):
    expected, shown = [], inside(seconds, window)
    for one, other in pairwise(shown):
        if other - one - 1 >= least_s:
            expected.append((one + 1, other))
    assert spans(seconds).gaps_in(window, least_s=least_s) == expected


@given(st.lists(SETS, max_size=4))
def test_a_union_holds_every_second_once(sets):
    union = Spans.union(spans(member) for member in sets)
    assert union.seconds.tolist() == sorted(set().union(*sets))
    assert (union.starts[1:] > union.ends[:-1]).all()


@given(SETS, SETS)
def test_a_difference_leaves_the_rest(one, other):
    assert spans(one).without(spans(other)).seconds.tolist() == sorted(one - other)


@given(SETS, st.integers(1, 4))
def test_only_long_spans_last(seconds, least_s):
    expected = [s for a, b in spans(seconds) if b - a >= least_s for s in range(a, b)]
    assert spans(seconds).lasting(least_s).seconds.tolist() == expected


@given(st.lists(SETS, max_size=4), WINDOWS)
def test_steps_count_the_members(sets, window):
    steps = Steps.of_spans(spans(member) for member in sets)
    counted = [sum(s in member for member in sets) for s in range(44)]
    assert [steps.at(s) for s in range(44)] == counted
    shown = counted[window.start_s : window.end_s + 1]
    assert steps.peak_in(window) == (max(shown), window.start_s + shown.index(max(shown)))
