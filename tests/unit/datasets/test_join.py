"""Several files about one video become one procedure, or say where they disagree."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from procedures import random_procedure, tiny_procedure
from surgeval.datasets import join_procedures, read_annotations, write_annotations
from surgeval.errors import ProcedureInvalid
from surgeval.schema.tracks import Procedure, Track, track_from_points


def part(track: Track, low: int, high: int) -> Track:
    keep = (track.seconds >= low) & (track.seconds < high)
    return replace(track, seconds=track.seconds[keep], boxes=track.boxes[keep], visibility=track.visibility[keep])


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_jobs_that_agree_give_the_whole(seed: int) -> None:
    whole = random_procedure(seed)
    middle = whole.duration_s // 2
    jobs = [
        replace(whole, tracks=tuple(part(t, low, high) for t in whole.tracks))
        for low, high in ((0, middle + 5), (middle, whole.duration_s))
    ]
    assert join_procedures(jobs) == [whole]


def test_boxes_of_one_tool_and_segments_of_another_give_the_whole(tmp_path: Path) -> None:
    whole = tiny_procedure()
    write_annotations(whole, tmp_path / "a.xml", tool="cvat")
    write_annotations(whole, tmp_path / "b.csv", tool="segments")
    (both,) = join_procedures(p for name in ("a.xml", "b.csv") for p in read_annotations(tmp_path / name).procedures)
    assert (both.events, both.phases, both.masked, both.center) == (whole.events, whole.phases, whole.masked, "A")
    for track in whole.tracks:
        assert np.array_equal(both.track(track.instance).boxes, track.boxes[track.in_view])


def test_every_contradiction_is_listed() -> None:
    def one(box: tuple[int, ...], kind: str, colour: str, center: str) -> Procedure:
        track = track_from_points("c", kind, [(3, box)], attributes={"colour": colour})
        return Procedure("v", "T", center, 10, 64, 64, (track,), facts={"device": colour})

    with pytest.raises(ProcedureInvalid) as refused:
        join_procedures([one((1, 1, 5, 5), "Clip", "red", "A"), one((2, 1, 5, 5), "Mesh", "blue", "B")])
    text = "\n".join(refused.value.problems)
    for words in (
        "center",
        "'Clip' in one file and a 'Mesh'",
        "attribute 'colour'",
        "1 seconds have different boxes",
        "fact",
    ):
        assert words in text


def test_different_videos_stay_apart() -> None:
    assert join_procedures([tiny_procedure(), random_procedure(2)]) == [tiny_procedure(), random_procedure(2)]
