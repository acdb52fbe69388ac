"""Gold pairs: answers whose verdict is beyond dispute, to measure a judge before it is believed.

All are written for this purpose; none comes from a data set. Each reference has right and wrong
candidates, so a judge that says one thing to everything is seen at once.
"""

from __future__ import annotations

from typing import NamedTuple

from surgeval.judges._case import JudgeCase
from surgeval.schema.foreign_objects import definitions_text


class GoldQuestion(NamedTuple):
    """A question with answers that are certainly right and answers that are certainly wrong."""

    kind: str
    procedure: str
    question: str
    reference: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


class GoldPair(NamedTuple):
    """One answer with its verdict."""

    kind: str
    case: JudgeCase
    correct: bool


_CHOLE, _SIGMA, _RECTUM = "Cholecystectomy", "Sigmoid Resection", "Rectal Resection"

QUESTIONS: tuple[GoldQuestion, ...] = (
    GoldQuestion(
        "open_ended", _CHOLE, "Which structure do the two clips close? Answer in a few words.", "The cystic duct",
        ("cystic duct", "They close off the ductus cysticus."),
        ("The cystic artery", "the common bile duct"),
    ),
    GoldQuestion(
        "open_ended", _CHOLE, "Why is the specimen bag brought in? Answer in one sentence.",
        "To take the gallbladder out of the abdomen",
        ("The gallbladder is placed in it and pulled out of the belly.", "For removal of the gallbladder"),
        ("To stop the bleeding from the liver bed", "To take out a sponge"),
    ),
    GoldQuestion(
        "open_ended", _SIGMA, "Where does the tip of the drain come to lie? Answer in a few words.",
        "In the small pelvis, behind the anastomosis",
        ("lesser pelvis, dorsal to the anastomosis", "It is put into the pelvis, behind the new bowel connection."),
        ("Below the right liver lobe", "In the pelvis, in front of the bladder"),
    ),
    GoldQuestion(
        "open_ended", _RECTUM, "Describe what happens to the sponge in this part.",
        "It soaks up blood next to the spleen and is then taken out",
        ("Used for blood near the spleen, then removed.", "It absorbs blood by the spleen; later it is retrieved."),
        ("It stays beside the spleen until the end.", "It is pressed on the liver and then taken out."),
    ),
    GoldQuestion(
        "open_ended", _CHOLE, "What does the surgeon do directly after the second clip is placed?",
        "Cuts the duct between the clips with scissors",
        ("Divides the duct between both clips using scissors.", "transection of the duct between the clips (scissors)"),
        ("Sets a third clip", "Opens the gallbladder with the hook"),
    ),
    GoldQuestion(
        "open_ended", _SIGMA, "On which side of the picture does the needle leave the view?", "On the left",
        ("left side", "It leaves towards the left edge."),
        ("On the right", "left or right"),
    ),
    GoldQuestion(
        "open_ended", _RECTUM, "How many loops are laid around the vessel, and of which colour?", "Two blue loops",
        ("2 loops, both blue", "A pair of blue silicone loops"),
        ("One blue loop", "Two red loops"),
    ),
    GoldQuestion(
        "multiple_choice", _CHOLE,
        "Which object is seen first? Select: A) Sponge B) Clip C) Specimen Bag D) Needle", "B) Clip",
        ("B", "Clip"),
        ("C) Specimen Bag", "A) Sponge"),
    ),
    GoldQuestion(
        "multiple_choice", _SIGMA,
        "Which quadrant holds the mesh? Select one: upper left, upper right, lower left, lower right", "lower left",
        ("Lower Left", "the lower left quadrant"),
        ("upper left", "lower right"),
    ),
    GoldQuestion(
        "multiple_choice", _RECTUM, "Is the hemostatic agent placed 1) before, 2) during or 3) after the division?",
        "3) after",
        ("3", "after the division"),
        ("1", "during"),
    ),
    GoldQuestion(
        "matching", _CHOLE, "Match objects and quadrants (object: quadrant, separated by semicolons).",
        "Clip: upper right; Sponge: lower left",
        ("Sponge: lower left; Clip: upper right", "clip: Upper Right ; sponge: Lower Left"),
        ("Clip: lower left; Sponge: upper right", "Clip: upper right"),
    ),
    GoldQuestion(
        "matching", _SIGMA, "Order the objects by first appearance, separated by >.",
        "Sponge > Needle > External Drain",
        ("sponge > needle > external drain", "First the sponge, then the needle, last the external drain"),
        ("Needle > Sponge > External Drain", "Sponge > Needle"),
    ),
)  # fmt: skip


def gold_pairs() -> tuple[GoldPair, ...]:
    """All gold pairs as cases."""
    pairs = []
    for number, item in enumerate(QUESTIONS, start=1):
        answers = [(text, True) for text in item.right] + [(text, False) for text in item.wrong]
        for letter, (text, correct) in zip("abcdef", answers, strict=False):
            pairs.append(GoldPair(item.kind, case_of(f"gold-{number:02d}{letter}", item, text), correct))
    return tuple(pairs)


def case_of(name: str, item: GoldQuestion, candidate: str) -> JudgeCase:
    """A candidate to a gold question, as a judge sees it."""
    return JudgeCase(
        case=name,
        procedure=item.procedure,
        start_s=60.0,
        end_s=180.0,
        question=item.question,
        reference=item.reference,
        candidate=candidate,
        definitions=definitions_text(),
    )
