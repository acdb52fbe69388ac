import pytest

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.scoring.ood import SeenSides, derived_ood
from unit.scoring.small_set import asked, known

QUESTIONS = load_questions(
    [
        asked("q1", procedure="Cholecystectomy", question="How many clips are seen at 00:01:00?"),
        asked("q2", procedure="hernia repair", question="How many sponges are seen at 00:02:00?"),
        asked("q3", procedure="cholecystectomy", question="Why was the mesh chosen?"),
    ],
    [
        known("q1", "number", "1", ood=True, strata={"center": "A"}),
        known("q2", "number", "1", ood=False, strata={"center": "B"}),
        known("q3", "open_ended", "x"),
    ],
)
SEEN = SeenSides.of(
    [asked("t", procedure="cholecystectomy", question="How many needles are seen at 00:09:00?")],
    [known("t", "number", "1", strata={"center": "A"})],
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("stated", [True, False, None]),
        ("procedure", [False, True, False]),
        ("template", [False, False, True]),
        ("either", [False, True, True]),
        ("center", [False, True, None]),
    ],
)
def test_each_rule_looks_at_what_it_is_named_after(rule: str, expected: list[bool | None]) -> None:
    assert derived_ood(QUESTIONS, rule, SEEN) == expected


def test_a_derived_rule_needs_training_questions() -> None:
    with pytest.raises(Misuse, match="--train-requests"):
        derived_ood(QUESTIONS, "procedure", None)


def test_centres_must_be_known_to_be_unseen() -> None:
    with pytest.raises(Misuse, match="--train-references"):
        derived_ood(QUESTIONS, "center", SeenSides.of([asked("t")]))


def test_an_unknown_rule_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'template'"):
        derived_ood(QUESTIONS, "templates", SEEN)
