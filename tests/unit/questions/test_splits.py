"""No patient and no copied video is on both sides."""

from dataclasses import replace

import numpy as np
import pytest

from procedures import random_procedure, tiny_procedure
from surgvalid.questions.splits import Splits, VideoFacts, copies_among, frame_signatures, leaks, split_videos
from surgvalid.schema.procedures.tracks import Procedure, Track


def facts(procedure: Procedure, **changes: str) -> VideoFacts:
    found = VideoFacts(
        procedure.video, procedure.patient, procedure.procedure_type, procedure.center, procedure.duration_s,
        frame_signatures(procedure),
    )  # fmt: skip
    return replace(found, **changes)


def busy(count: int) -> list[Procedure]:
    found = (random_procedure(seed, most_objects=9) for seed in range(100))
    return [p for p in found if frame_signatures(p).size > 20][:count]


def shifted(procedure: Procedure, by_s: int, name: str) -> Procedure:
    """The same recording with `by_s` seconds in front of it, under another name."""
    tracks = tuple(
        Track(t.instance + "x", t.class_name, t.seconds + by_s, t.boxes, t.visibility) for t in procedure.tracks
    )
    return Procedure(name, procedure.procedure_type, "B", procedure.duration_s + by_s, 640, 360, tracks)


def test_equal_frames_have_equal_signatures_wherever_they_lie():
    procedure = tiny_procedure()
    moved = shifted(procedure, 17, "copy")
    assert np.array_equal(frame_signatures(procedure), frame_signatures(moved))


def test_signatures_see_class_and_box():
    procedure = tiny_procedure()
    clip = procedure.track("clip 1")
    other_class = replace(procedure, tracks=(Track("c", "Needle", clip.seconds, clip.boxes, clip.visibility),))
    other_box = replace(procedure, tracks=(Track("c", "Clip", clip.seconds, clip.boxes + 1, clip.visibility),))
    same = replace(procedure, tracks=(clip,))
    signatures = [set(frame_signatures(p).tolist()) for p in (same, other_class, other_box)]
    assert not signatures[0] & signatures[1]
    assert not signatures[0] & signatures[2]


def test_a_renamed_and_cut_copy_is_found_and_stays_on_its_side():
    procedures = busy(8)
    copy = shifted(procedures[0], 30, "copy")
    videos = [facts(p) for p in (*procedures, copy)]
    assert [(a, b) for a, b, _ in copies_among(videos)] == [(procedures[0].video, "copy")]
    for seed in range(20):
        splits = split_videos(videos, test_share=0.5, seed=seed)
        assert splits.of_video["copy"] == splits.of_video[procedures[0].video]
        assert leaks(videos, splits) == []


def test_videos_of_one_patient_stay_together():
    videos = [facts(p, patient=f"p{i // 3}", procedure_type="x") for i, p in enumerate(busy(12))]
    for seed in range(20):
        splits = split_videos(videos, test_share=0.5, seed=seed)
        assert leaks(videos, splits) == []
        assert sorted(splits.names) == ["test", "train"]


def test_held_out_procedures_and_centres_are_only_tested():
    videos = [facts(p) for p in busy(12)]
    splits = split_videos(videos, test_share=0.0, ood_procedures=["Appendectomy"], ood_centers=["B"])
    for video in videos:
        held_out = video.procedure_type == "Appendectomy" or video.center == "B"
        assert splits.of_video[video.video] == ("test" if held_out else "train")
        assert splits.ood[video.video] == held_out


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_every_procedure_type_is_dealt_by_the_share(share):
    videos = [facts(p) for p in busy(30)]
    splits = split_videos(videos, test_share=share, seed=3)
    for kind in {v.procedure_type for v in videos}:
        sides = [splits.of_video[v.video] for v in videos if v.procedure_type == kind]
        assert sides.count("test") == round(share * len(sides))


def test_leaks_are_named():
    procedures = busy(2)
    videos = [
        facts(procedures[0], patient="p"),
        facts(procedures[1], patient="p"),
        facts(shifted(procedures[0], 5, "c")),
    ]
    sides = {videos[0].video: "train", videos[1].video: "test", "c": "test"}
    found = leaks(videos, Splits(sides, {}))
    assert found[0] == "patient 'p' is in train and test"
    assert "share" in found[1]


def test_videos_without_objects_are_no_copies():
    empty = [replace(random_procedure(s), tracks=(), events=(), video=f"e{s}", patient="") for s in (1, 2)]
    assert copies_among([facts(p) for p in empty]) == []
    assert copies_among([]) == []
