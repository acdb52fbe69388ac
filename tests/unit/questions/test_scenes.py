"""Windows lie inside the video, follow their track and reach what is rare."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from procedures import random_procedure, tiny_procedure
from surgvalid.questions.drafts import draw_scene
from surgvalid.questions.template import FRAME, PROCEDURE, SEGMENT
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.tracks import Procedure, Span, track_from_points


def scenes(procedure: Procedure, track, count: int = 400):
    draw, ledger = np.random.default_rng(0), Ledger(procedure)
    return [scene for _ in range(count) if (scene := draw_scene(ledger, track, draw))]


def test_a_masked_frame_is_never_drawn():
    procedure = replace(tiny_procedure(), masked=(Span(0, 50),))
    assert {scene.second for scene in scenes(procedure, FRAME)} <= set(range(50, 60))
    assert scenes(procedure, FRAME)


def test_rare_classes_are_shown_as_often_as_common_ones():
    common = track_from_points("c", "Clip", [(s, (0, 0, 9, 9)) for s in range(2000)])
    rare = track_from_points("n", "Needle", [(s, (0, 0, 9, 9)) for s in range(2000, 2010)])
    procedure = Procedure("v", "p", "c", 2010, 64, 48, (common, rare))
    shown = Counter(s.ledger.in_view(s.second)[0].class_name for s in scenes(procedure, FRAME))
    assert shown["Needle"] > 0.35 * sum(shown.values())


@pytest.mark.parametrize("seed", range(5))
def test_segments_and_prefixes_lie_inside_the_video(seed):
    procedure = random_procedure(seed, longest_s=900)
    for scene in scenes(procedure, SEGMENT, 100):
        assert 0 <= scene.window.start_s <= scene.window.end_s < procedure.duration_s
        assert scene.window.length_s <= 300
    for scene in scenes(procedure, PROCEDURE, 100):
        assert scene.window.start_s == 0
        assert scene.window.end_s < procedure.duration_s


@pytest.mark.parametrize("duration_s", [1, 2, 9])
def test_very_short_videos_are_no_problem(duration_s):
    procedure = Procedure("v", "p", "c", duration_s, 64, 48)
    for track in (FRAME, SEGMENT, PROCEDURE):
        assert all(scene.window.end_s < duration_s for scene in scenes(procedure, track, 20))
