"""The order of questions, their names, and when a video is to be seen."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submission_runs import tasks
from surgvalid.asking.plan import Aliases, AskedTask, AskingRules, PlanState, StagedMedia, sessions_of, uses_of
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.questions.questions import Request


def cases(sessions: list[list[AskedTask]]) -> list[list[str]]:
    return [[task.request.case for task in group] for group in sessions]


@pytest.mark.parametrize("state", PlanState)
def test_the_seed_alone_decides_the_order(state: PlanState, tmp_path: Path) -> None:
    asked = tasks(tmp_path, 12, 3)
    first = cases(sessions_of(asked, state=state, seed=7))
    assert cases(sessions_of(asked[::-1], state=state, seed=7)) == first
    assert cases(sessions_of(asked, state=state, seed=8)) != first
    assert sorted(case for group in first for case in group) == sorted(task.request.case for task in asked)


def test_a_container_lives_as_long_as_the_policy_says(tmp_path: Path) -> None:
    asked = tasks(tmp_path, 12, 3)
    assert [len(g) for g in sessions_of(asked, state=PlanState.PER_QUESTION, seed=0)] == [1] * 12
    assert [len(g) for g in sessions_of(asked, state=PlanState.FREE, seed=0)] == [12]
    per_video = sessions_of(asked, state=PlanState.PER_VIDEO, seed=0)
    assert [{task.request.video for task in group} for group in per_video] == [
        {group[0].request.video} for group in per_video
    ]
    assert len(per_video) == 3
    assert sessions_of([], state=PlanState.FREE, seed=0) == []


def test_names_are_the_same_within_a_run_and_unrelated_between_runs(tmp_path: Path) -> None:
    (task,) = tasks(tmp_path, 1)
    one, other = Aliases(), Aliases()
    rules = AskingRules.of_track("segment")
    asked = one.question(task, rules)
    assert asked == Aliases(one.key).question(task, rules)
    assert asked.case != other.question(task, rules).case
    assert asked.video != other.question(task, rules).video
    assert (asked.track, asked.budget_s) == ("segment", 15.0)


def test_nothing_of_our_names_reaches_the_program(tmp_path: Path) -> None:
    media = tmp_path / "HeiCo-test-secret.MP4"
    media.touch()
    task = AskedTask(Request("case-secret", "video-secret", 0, 1, "p", "q"), media)
    message = Aliases().question(task, AskingRules()).as_bytes().decode()
    assert "secret" not in message
    assert re.search(r'"/input/[0-9a-f]{32}\.mp4"', message)


@given(st.text(max_size=20), st.text(max_size=20))
def test_different_names_have_different_aliases(one: str, other: str) -> None:
    aliases = Aliases(b"key")
    assert (aliases.of("case", one) == aliases.of("case", other)) == (one == other)
    assert aliases.of("case", one) != aliases.of("video", one)


def test_rules_that_mean_nothing_are_refused() -> None:
    for changes in ({"budget_s": 0.0}, {"health_s": float("nan")}, {"stop_s": float("inf")}, {"most_restarts": -1}):
        with pytest.raises(Misuse):
            AskingRules(**changes)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean 'frame'"):
        AskingRules.of_track("frames")


def test_a_file_is_needed_as_often_as_it_is_asked_about(tmp_path: Path) -> None:
    asked = tasks(tmp_path, 5, 2)
    assert uses_of([asked]) == {asked[0].media: 3, asked[1].media: 2}


def test_a_staged_video_is_not_to_be_seen_until_it_is_shown(tmp_path: Path) -> None:
    source = tmp_path / "v.mp4"
    source.write_bytes(b"video")
    shelf = StagedMedia(tmp_path / "shelf")
    shelf.stage(source, "x.mp4")
    assert os.listdir(shelf.input) == []
    shelf.show("x.mp4")
    assert os.listdir(shelf.input) == ["x.mp4"]
    assert (shelf.input / "x.mp4").stat().st_ino == source.stat().st_ino
    shelf.show("x.mp4")
    shelf.withdraw()
    assert os.listdir(shelf.input) == []
    shelf.show("x.mp4")
    shelf.hide("x.mp4")
    assert os.listdir(shelf.input) == []
    assert source.read_bytes() == b"video"


def test_a_video_that_others_may_not_read_is_copied_and_left_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "v.mp4"
    source.write_bytes(b"video")
    source.chmod(0o600)
    shelf = StagedMedia(tmp_path / "shelf")
    shelf.stage(source, "x.mp4")
    shelf.show("x.mp4")
    assert (shelf.input / "x.mp4").stat().st_mode & 0o777 == 0o644
    assert source.stat().st_mode & 0o777 == 0o600


def test_a_video_on_another_disk_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other_disk(*_: object) -> None:
        raise OSError(18, "cross-device")

    monkeypatch.setattr(os, "link", other_disk)
    source = tmp_path / "v.mp4"
    source.write_bytes(b"video")
    shelf = StagedMedia(tmp_path / "shelf")
    shelf.stage(source, "x.mp4")
    shelf.show("x.mp4")
    assert (shelf.input / "x.mp4").read_bytes() == b"video"
    shelf.clear()
    assert os.listdir(shelf.input) == []


def test_a_video_that_is_not_there_cannot_be_staged(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        StagedMedia(tmp_path / "shelf").stage(tmp_path / "gone.mp4", "x.mp4")
