from __future__ import annotations

import math

import numpy as np
import pytest

from compat_gaps import compat_gap
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.phases.frames import AllowedTransitions, PhaseAccuracy, PhaseMeasure
from surgvalid.metrics.phases.videos import PhaseVideo

PHASES = (1, 2, 3, 4, 5, 6, 7)
NEXT = AllowedTransitions("one step", late={p: (p - 1,) for p in PHASES[1:]}, early={p: (p + 1,) for p in PHASES[:-1]})
OPTIONS = {"phases": PHASES, "allowed": NEXT}


def shifted(seconds: int) -> PhaseVideo:
    """Two phases of a minute each, with the transition predicted `seconds` late (negative: early)."""
    return PhaseVideo([1] * 60 + [2] * 60, [1] * (60 + seconds) + [2] * (60 - seconds))


def accuracy(rule: str, video: PhaseVideo) -> float:
    return value_of(PhaseAccuracy(rule=rule, **OPTIONS), [video])


def test_the_published_script_forgives_late_but_not_early_transitions() -> None:
    assert accuracy("relaxed_matlab", shifted(-8)) == pytest.approx(112 / 120)
    assert accuracy("relaxed_intended", shifted(-8)) == 1
    for rule in ("relaxed_matlab", "relaxed_intended", "ad"):
        assert accuracy(rule, shifted(8)) == 1
    assert accuracy("ad", shifted(-8)) == 1
    assert accuracy("strict", shifted(8)) == accuracy("strict", shifted(-8)) == pytest.approx(112 / 120)


def test_the_published_script_forgives_frames_at_the_wrong_end() -> None:
    """Frames 50 to 59 are tested, frames 0 to 9 are forgiven: nonsense there becomes right."""
    (video,) = _coded(PhaseVideo([1] * 60 + [2] * 60, [7] * 10 + [1] * 40 + [2] * 70))
    assert np.flatnonzero(PhaseAccuracy(rule="relaxed_matlab", **OPTIONS).forgiven(video)).tolist() == list(range(10))
    intended = PhaseAccuracy(rule="relaxed_intended", **OPTIONS).forgiven(video)
    assert np.flatnonzero(intended).tolist() == list(range(50, 60))


def test_forgiven_frames_lift_precision_above_one_unless_a_rule_stops_it() -> None:
    def precision(rule: str) -> float:
        metric = PhaseMeasure(measure="precision", rule=rule, **OPTIONS)
        return float(metric.counts(*_coded(shifted(-8)))[0, 0] / metric.counts(*_coded(shifted(-8)))[0, 1])

    assert precision("relaxed_intended") == pytest.approx(60 / 52)
    assert precision("relaxed_v2") == 1
    uncut = PhaseMeasure(measure="precision", rule="relaxed_intended", **OPTIONS)
    assert value_of(uncut, [shifted(-8)]) > 1
    assert uncut.facts.high == math.inf
    assert value_of(PhaseMeasure(measure="precision", rule="relaxed_v1", **OPTIONS), [shifted(-8)]) == 1


def _coded(video: PhaseVideo) -> list:
    from surgvalid.metrics.phases.videos import coded_videos

    return coded_videos([video], PHASES)


def test_a_flawed_rule_says_by_how_much_it_is_off() -> None:
    gap = compat_gap(PhaseAccuracy(rule="relaxed_matlab", **OPTIONS), [shifted(-8)])
    assert gap.difference == pytest.approx([-8 / 120])
    assert "off by -0.0667" in str(gap)
    recall = compat_gap(PhaseMeasure(measure="recall", rule="relaxed_matlab", **OPTIONS), [shifted(-8), shifted(8)])
    assert recall.corrected_name == "phase_recall_relaxed_v2"
    with pytest.raises(Misuse, match="nothing to compare"):
        compat_gap(PhaseAccuracy(rule="strict"), [])


def test_a_reordered_list_of_phases_changes_no_relaxed_value() -> None:
    videos = [shifted(-8), shifted(5)]
    for rule in ("relaxed_intended", "relaxed_matlab", "relaxed_v2"):
        plain = PhaseMeasure(measure="recall", rule=rule, **OPTIONS)
        turned = PhaseMeasure(measure="recall", rule=rule, phases=PHASES[::-1], allowed=NEXT)
        assert value_of(plain, videos) == pytest.approx(value_of(turned, videos))


def test_the_window_is_in_seconds_at_any_frame_rate() -> None:
    one = shifted(8)
    fast = PhaseVideo(np.repeat(one.reference, 25), np.repeat(one.prediction, 25), fps=25)
    for rule in ("ad", "relaxed_intended"):
        metric = PhaseAccuracy(rule=rule, window_s=5, **OPTIONS)
        assert value_of(metric, [fast]) == pytest.approx(value_of(metric, [one]))


def test_pooled_frames_and_means_over_videos_are_two_estimands() -> None:
    long, short = shifted(0), PhaseVideo([1, 1, 2, 2], [1, 2, 2, 2])
    over_videos = PhaseAccuracy(phases=PHASES)
    pooled = PhaseAccuracy(phases=PHASES, average="frames")
    assert value_of(over_videos, [long, short]) == pytest.approx((1 + 0.75) / 2)
    assert value_of(pooled, [long, short]) == pytest.approx(123 / 124)
    recall = PhaseMeasure(measure="recall", phases=PHASES, average="frames")
    assert value_of(recall, [long, short]) == pytest.approx((61 / 62 + 1) / 2)
    doubled = recall.combine(recall.prepare([long, short]), [[1, 2]])[0]
    assert doubled == pytest.approx(value_of(recall, [long, short, short]))


def test_a_phase_never_predicted_has_precision_zero_but_is_skipped_by_the_script() -> None:
    video = PhaseVideo([1] * 30 + [5] * 30, [1] * 60)
    assert value_of(PhaseMeasure(measure="precision", **OPTIONS), [video]) == pytest.approx(0.25)
    script = PhaseMeasure(measure="precision", rule="relaxed_matlab", window_s=0, **OPTIONS)
    assert value_of(script, [video]) == pytest.approx(0.5)


def test_every_problem_of_every_video_is_named() -> None:
    videos = [
        PhaseVideo([1], [1, 1]),
        PhaseVideo([1, 9], [8, 1], name="VID02"),
        PhaseVideo([], []),
        PhaseVideo([1], [1], 0),
    ]
    with pytest.raises(InputInvalid) as caught:
        value_of(PhaseAccuracy(phases=PHASES), videos)
    assert len(caught.value.problems) == 5
    assert "VID02" in str(caught.value)


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName, match="relaxed_matlab"):
        PhaseAccuracy(rule="relaxed_mathlab")
    with pytest.raises(UnknownName, match="jaccard"):
        PhaseMeasure(measure="jacard")
    with pytest.raises(UnknownName):
        PhaseAccuracy(average="video")
    with pytest.raises(Misuse, match="window_s"):
        PhaseAccuracy(window_s=-1)
    with pytest.raises(Misuse, match="not a declared phase"):
        value_of(PhaseAccuracy(rule="relaxed_v2", phases=(1, 2)), [shifted(0)])
    with pytest.raises(Misuse, match="different labels"):
        value_of(PhaseAccuracy(phases=(1, 1)), [shifted(0)])
