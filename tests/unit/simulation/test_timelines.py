from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.simulation.timelines import Episode, Path, strongest


def test_a_path_runs_straight_between_keys_and_stands_still_outside():
    path = Path.through([(10, (0.0, 5.0)), (0, (1.0, 5.0)), (20, (0.0, 7.0))])
    np.testing.assert_allclose(path.at(np.array([-5, 0, 5, 15, 99.0])), [(1, 5), (1, 5), (0.5, 5), (0, 6), (0, 7)])


def test_of_two_keys_at_one_time_the_last_counts():
    assert Path.through([(0, (1.0,)), (0, (2.0,))]).at(np.array([0.0])).tolist() == [[2.0]]


def test_an_episode_rises_stays_and_falls():
    episode = Episode("smoke", 10, 22, 0.8)
    np.testing.assert_allclose(
        episode.at(np.array([9, 10, 11, 12, 16, 21, 22, 23.0])), [0, 0, 0.4, 0.8, 0.8, 0.4, 0, 0]
    )


@given(
    episodes=st.lists(st.tuples(st.floats(0, 50), st.floats(0.5, 30), st.floats(0.1, 1)), max_size=6),
    times=st.lists(st.floats(-5, 90), min_size=1, max_size=30),
)
def test_the_strongest_episode_is_what_asking_each_one_gives(episodes, times):
    made = [Episode("x", start, start + length, strength) for start, length, strength in episodes]
    asked = np.sort(np.array(times))
    each = np.max([np.zeros(len(asked)), *(episode.at(asked) for episode in made)], axis=0)
    np.testing.assert_allclose(strongest(made, asked), each, atol=1e-12)
