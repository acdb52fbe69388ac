from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import build_format
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.simulation import SimulatedModel, answer, conditions_of, draw_scene, probabilities
from surgvalid.simulation.models import wrong_answer

LEAF = Capability.OBJECT_IDENTIFICATION
FORMATS = {
    "binary": ("yes", "Is it? Answer with yes or no."),
    "number": ("3", "How many clips? Answer with a number."),
    "percentage": ("40%", "Which share? Answer with xx%."),
    "fo_class": ("Clip, Sponge", "Which classes? Answer with class names."),
    "time": ("00:10:05, 00:20:00", "When? Answer with hh:mm:ss."),
    "open_ended": ("to stop the bleeding", "Why? Answer in a few words."),
    "multiple_choice": ("liver bed", "Where? Select: liver bed, pelvis, port."),
    "matching": (
        "Clip: left; Mesh: right",
        "Where? Answer in the form 'Clip: ...; Mesh: ...' with one of left, right for each.",
    ),
}
PARAMETERS = {"matching": {"pattern": "Clip: (left|right); Mesh: (left|right)"}}


def questions(count: int, *, videos: int = 20, format_name: str = "binary", ood: bool = False, capability=LEAF):
    text, asked = FORMATS[format_name]
    requests = [Request(f"q{n}", f"v{n % videos}", 0, 3600, "Cholecystectomy", asked) for n in range(count)]
    known = PARAMETERS.get(format_name, {})
    references = [Reference(f"q{n}", capability, format_name, text, known, ood=ood) for n in range(count)]
    return requests, references


def test_a_model_is_right_as_often_as_its_skill_says():
    requests, references = questions(4000)
    done = answer(SimulatedModel("m", 0.7), requests, references, seed=1)
    assert done.table["correct"].mean() == pytest.approx(0.7, abs=0.025)
    assert done.table["probability"].to_list() == pytest.approx([0.7] * 4000)


def test_skills_are_per_leaf_then_per_group_then_overall():
    model = SimulatedModel("m", 0.5, {"1a": 0.9, "object_recognition": 0.8, "aggregation": 0.3})
    assert model.skill_for(Capability.OBJECT_IDENTIFICATION) == 0.9
    assert model.skill_for(Capability.OBJECT_ATTRIBUTES) == 0.8
    assert model.skill_for(Capability.EVENT_AGGREGATION) == 0.3
    assert model.skill_for(Capability.TEMPORAL_LOCALIZATION) == 0.5


@pytest.mark.parametrize("format_name", FORMATS)
def test_wrong_answers_are_wrong_by_the_formats_own_rule_and_right_ones_right(format_name):
    requests, references = questions(200, format_name=format_name)
    done = answer(SimulatedModel("m", 0.5), requests, references, seed=2)
    form = build_format(format_name, PARAMETERS.get(format_name, {}))
    for response, correct, reference in zip(done.responses, done.table["correct"], references, strict=True):
        assert form.reads(response.content)
        if form.judged:
            assert (response.content == reference.answer) == correct
        else:
            assert form.compare(form.parse(reference.answer), form.parse(response.content)) == correct
    assert 60 < done.table["correct"].sum() < 140


@given(
    named=st.lists(st.sampled_from(CLASS_NAMES), max_size=10, unique=True),
    count=st.integers(0, 99),
    seconds=st.lists(st.integers(0, 7200), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_no_wrong_answer_is_ever_counted_as_right(named, count, seconds, seed):
    stamps = ", ".join(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds)
    cases = {"fo_class": ", ".join(named) or "None", "number": str(count), "time": stamps, "percentage": f"{count}%"}
    request = Request("q", "v", 0, 7200, "", "?")
    for format_name, text in cases.items():
        form = build_format(format_name, {})
        reference = Reference("q", LEAF, format_name, text)
        wrong = wrong_answer(reference, request, form, np.random.default_rng(seed))
        assert form.reads(wrong), (format_name, text, wrong)
        assert not form.compare(form.parse(text), form.parse(wrong))


def test_another_option_of_the_question_is_chosen():
    requests, references = questions(60, format_name="multiple_choice")
    done = answer(SimulatedModel("m", 0.1), requests, references, seed=3)
    assert {response.content for response in done.responses} <= {"liver bed", "pelvis", "port"}
    assert len({response.content for response in done.responses}) == 3


def test_hard_videos_and_questions_are_hard_for_every_model():
    requests, references = questions(600, videos=30)
    models = [SimulatedModel(name, 0.6, video_sd=1.2, case_sd=1.0) for name in "ab"]
    first, second = (probabilities(model, requests, references, seed=4) for model in models)
    np.testing.assert_allclose(first, second)
    own = probabilities(SimulatedModel("c", 0.6, own_video_sd=1.2), requests, references, seed=4)
    other = probabilities(SimulatedModel("d", 0.6, own_video_sd=1.2), requests, references, seed=4)
    assert abs(np.corrcoef(own, other)[0, 1]) < 0.6


def test_a_better_model_is_better_on_every_case():
    requests, references = questions(50)
    low, high = (probabilities(SimulatedModel("m", s, video_sd=1.0), requests, references, seed=5) for s in (0.5, 0.8))
    assert (high > low).all()


def test_a_shift_out_of_distribution_changes_the_odds_by_what_is_stated():
    requests, references = questions(40, videos=2, ood=True)
    chances = probabilities(SimulatedModel("m", 0.5, ood_shift=-0.5), requests, references, seed=6)
    assert set(np.round(np.log(chances / (1 - chances)), 6)) == {-0.5}


def test_conditions_of_a_question_are_the_mean_over_its_window():
    scene = draw_scene(3, 0, minutes=(3, 4))
    strengths = scene.conditions(np.arange(scene.duration_s, dtype=float))
    levels = strengths["background_smoke"]
    requests = [Request("still", scene.video, 100, 100, "", "?"), Request("clip", scene.video, 50, 149, "", "?")]
    found = conditions_of(requests, [(scene.video, strengths)])
    assert found["still"]["background_smoke"] == pytest.approx(levels[100])
    assert found["clip"]["background_smoke"] == pytest.approx(levels[50:150].mean())
    assert len(found["still"]) == 19


def test_a_regression_finds_the_sensitivity_that_was_put_in():
    import statsmodels.api as sm

    requests, references = questions(8000, videos=80)
    smoke = np.random.default_rng(0).uniform(0, 1, 8000)
    conditions = {request.case: {"background_smoke": float(s)} for request, s in zip(requests, smoke, strict=True)}
    model = SimulatedModel("m", 0.75, sensitivity={"background_smoke": -1.8})
    done = answer(model, requests, references, seed=7, conditions=conditions)
    fit = sm.Logit(done.table["correct"].to_numpy().astype(float), sm.add_constant(smoke)).fit(disp=0)
    assert fit.params[1] == pytest.approx(-1.8, abs=3 * fit.bse[1])
    assert fit.params[0] == pytest.approx(np.log(3), abs=3 * fit.bse[0])


def test_refusals_have_no_content_and_count_as_wrong():
    requests, references = questions(300)
    done = answer(SimulatedModel("m", 0.99, refuses=0.4), requests, references, seed=8)
    refused = [response for response in done.responses if response.content is None]
    assert 80 < len(refused) < 160
    assert not done.table.filter(~done.table["answered"])["correct"].any()


def test_latencies_are_around_the_stated_one():
    requests, references = questions(300)
    done = answer(SimulatedModel("m", latency_s=2.0), requests, references, seed=9)
    assert np.median([response.latency_s for response in done.responses]) == pytest.approx(2.0, rel=0.15)


def test_references_without_a_request_and_impossible_skills_are_refused():
    requests, references = questions(3)
    with pytest.raises(InputInvalid, match="'q2' has no request"):
        answer(SimulatedModel("m"), requests[:2], references, seed=0)
    with pytest.raises(Misuse, match="between 0 and 1"):
        answer(SimulatedModel("m", 1.0), requests, references, seed=0)
