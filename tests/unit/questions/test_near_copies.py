"""A recording that was annotated again, cut and rescaled is recognised; different recordings never are."""

from functools import cache

import numpy as np
import pytest
from docs.validate_stages import annotated_again

from surgvalid import make_questions
from surgvalid.questions.near_duplicates import LEAST, NO_LANDMARKS, SHARE, Landmarks, landmarks_of, near_copies
from surgvalid.schema.procedures.tracks import Procedure, track_from_points
from surgvalid.simulation import draw_scene, true_procedure


@cache
def recordings() -> list[Procedure]:
    drawn = (draw_scene(8, number, minutes=(9, 12), width_px=96, height_px=54) for number in range(12))
    return [true_procedure(scene, instruments=False) for scene in drawn]


@pytest.mark.parametrize(("cut_s", "scale"), [(0, 1.0), (120, 1.0), (0, 1.6), (240, 0.5)])
@pytest.mark.long
def test_a_recording_annotated_again_is_recognised(cut_s, scale):
    found = 0
    for procedure in recordings():
        pair = [landmarks_of(procedure), landmarks_of(annotated_again(procedure, "other", cut_s=cut_s, scale=scale))]
        found += (0, 1) in near_copies(pair)
    assert found >= 11


@pytest.mark.long
def test_different_recordings_are_never_taken_for_one():
    assert near_copies([landmarks_of(procedure) for procedure in recordings()]) == {}


def test_objects_that_come_and_go_by_the_clock_make_no_copies():
    clockwork = []
    for number in range(3):
        draw = np.random.default_rng(number)
        tracks = []
        for place, kind in enumerate(["Sponge", "Sponge", "Needle", "Clip", "Clip", "Specimen Bag"]):
            start, stop = sorted(int(s) for s in draw.integers(20, 880, 2))
            seconds = [s for s in range(start, stop + 15) if s // 20 % 3]
            tracks.append(track_from_points(f"o{place}", kind, [(s, (9, 9, 9, 9)) for s in seconds]))
        clockwork.append(landmarks_of(Procedure(f"v{number}", "p", "c", 900, 64, 48, tuple(tracks))))
    assert near_copies(clockwork) == {}


def test_one_second_of_hesitation_changes_little_and_silence_nothing():
    steps = np.cumsum(np.random.default_rng(0).integers(4, 60, 80))
    seen = [s for start, stop in zip(steps[::2], steps[1::2], strict=True) for s in range(start, stop)]
    hesitant = [s for s in seen if s not in set(seen[::37])]
    pair = []
    for seconds in (seen, hesitant):
        track = track_from_points("c", "Clip", [(int(s), (0, 0, 9, 9)) for s in seconds])
        pair.append(landmarks_of(Procedure("v", "p", "c", int(steps[-1]) + 60, 64, 48, (track,))))
    assert near_copies(pair)[0, 1] > LEAST
    assert near_copies([NO_LANDMARKS, NO_LANDMARKS]) == {}
    assert landmarks_of(Procedure("v", "p", "c", 10, 64, 48)).tokens.size == 0


def test_the_same_landmarks_at_random_distances_prove_nothing():
    tokens = np.arange(40, dtype=np.uint64)
    draw = np.random.default_rng(1)
    one, other = (Landmarks(tokens, np.sort(draw.integers(0, 9000, 40))) for _ in range(2))
    moved = Landmarks(tokens, one.seconds + 77)
    assert set(near_copies([one, Landmarks(tokens, draw.permutation(other.seconds)), moved])) == {(0, 2)}


@pytest.mark.long
def test_the_benchmark_keeps_a_recording_and_its_second_annotation_on_one_side():
    first = recordings()[0]
    procedures = [*recordings()[1:8], first, annotated_again(first, "renamed", cut_s=60, scale=1.5)]
    for seed in range(3):
        made = make_questions(procedures, tracks=["frame"], per_video=3, test_share=0.5, seed=seed)
        sides = dict(made.card.videos.select("video", "split").iter_rows())
        assert sides["renamed"] == sides[first.video]
        assert any("renamed" in defect and "same side" in defect for defect in made.card.defects)


def shared_one_by_one(videos: list[Landmarks]) -> dict[tuple[int, int], int]:
    """The rule as it is told, every pair of videos by itself."""
    places = [token for tokens, _ in videos for token in tokens.tolist()]
    copies = {}
    for other in range(len(videos)):
        for one in range(other):
            pairs = [
                (then - second, token)
                for token, second in zip(*(column.tolist() for column in videos[one]), strict=True)
                for same, then in zip(*(column.tolist() for column in videos[other]), strict=True)
                if same == token and places.count(token) <= 50
            ]
            most = max((len({t for s, t in pairs if abs(s - shift) <= 1}) for shift, _ in pairs), default=0)
            fewer = min(len(set(marks.tokens.tolist())) for marks in (videos[one], videos[other]))
            if most >= LEAST and most >= SHARE * fewer:
                copies[one, other] = most
    return copies


def test_many_videos_at_once_give_what_every_pair_gives():
    copies = 0
    for seed in range(12):
        draw, videos = np.random.default_rng(seed), [NO_LANDMARKS]
        for number in range(7):
            tokens, seconds = draw.integers(0, 8 + 10 * seed, 40).astype(np.uint64), np.sort(draw.integers(0, 500, 40))
            if number % 2:
                kept = draw.random(videos[-1].tokens.size) < 0.7
                tokens, seconds = videos[-1].tokens[kept], videos[-1].seconds[kept] + draw.integers(4, 7, kept.sum())
            videos.append(Landmarks(tokens, seconds))
        assert near_copies(videos) == shared_one_by_one(videos)
        copies += len(near_copies(videos))
    assert copies > 20
