"""A small question set: twelve invented procedures, and answers of two invented models.

Every reference follows from the few facts noted per procedure, so the set can be read and checked by
hand. The two models differ in a way that a plain average hides: one fails mostly on a few videos.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import surgvalid
from surgvalid.schema.questions.questions import Reference, Request, Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import write_json_rows
from surgvalid.stats.draws import stream

MODELS = ("steady", "moody")


class Procedure(NamedTuple):
    """The facts of one invented procedure."""

    kind: str
    clips: int
    sponge_seen_s: int
    sponge_out_s: int | None
    others: str
    place: str


PROCEDURES = (
    Procedure("cholecystectomy", 5, 372, 2410, "Specimen Bag", "beside the liver"),
    Procedure("cholecystectomy", 4, 245, 1980, "Gallstone", "in the gallbladder bed"),
    Procedure("cholecystectomy", 6, 510, None, "Specimen Bag, Gallstone", "below the liver"),
    Procedure("cholecystectomy", 3, 190, 1502, "Specimen Bag", "beside the duodenum"),
    Procedure("cholecystectomy", 4, 301, 2222, "External Drain", "in the gallbladder bed"),
    Procedure("cholecystectomy", 5, 415, 1890, "Specimen", "above the liver"),
    Procedure("rectal resection", 2, 1210, 5400, "Needle", "in the pelvis"),
    Procedure("rectal resection", 3, 980, 6105, "Silicone Loop", "beside the sigmoid"),
    Procedure("rectal resection", 1, 1415, None, "Needle, Silicone Loop", "in the pelvis"),
    Procedure("hernia repair", 0, 655, 2750, "Mesh, Needle", "at the groin"),
    Procedure("hernia repair", 0, 702, 3010, "Mesh", "at the groin"),
    Procedure("hernia repair", 1, 590, 2333, "Mesh, Clip", "at the abdominal wall"),
)
UNSEEN = "hernia repair"
"""The kind of procedure that counts as out of distribution here."""


def questions() -> tuple[list[Request], list[Reference]]:
    """Requests and references of the demo."""
    requests, references = [], []
    for number, facts in enumerate(PROCEDURES, start=1):
        for index, (code, answer_format, text, answer, clinical) in enumerate(_asked(facts), start=1):
            case = f"p{number:02}-{index}"
            requests.append(Request(case, f"procedure-{number:02}", 0, facts.sponge_seen_s + 300, facts.kind, text))
            references.append(
                Reference(
                    case, Capability.read(code), answer_format, answer, ood=facts.kind == UNSEEN, clinical=clinical
                )
            )
    return requests, references


def _asked(facts: Procedure) -> list[tuple[str, str, str, str, bool]]:
    seen = _stamp(facts.sponge_seen_s)
    out = "no" if facts.sponge_out_s is None else "yes"
    kinds = ", ".join(dict.fromkeys(["Sponge", *facts.others.split(", ")]))
    return [
        (
            "1a",
            "fo_class",
            "Which foreign objects are visible apart from clips? Answer with class names.",
            kinds,
            False,
        ),
        (
            "1e",
            "open_ended",
            "Where does the sponge lie when it is first seen? Answer in a few words.",
            facts.place,
            True,
        ),
        ("2a", "time", "When is the sponge first visible? Answer as hh:mm:ss.", seen, False),
        ("3a", "number", "How many clips have been placed so far? Answer with a number.", str(facts.clips), True),
        ("3b", "number", f"How many objects were inserted after {seen}? Answer with a number.", "2", False),
        ("4a", "binary", "Has the sponge been retrieved? Answer yes or no.", out, True),
        (
            "4b",
            "multiple_choice",
            "Why is the sponge used: A absorb fluid, B close a vessel? Answer A or B.",
            "A",
            False,
        ),
        ("5a", "binary", f"Is anything left inside that must come out after {seen}? Answer yes or no.", "yes", True),
        ("2b", "percentage", "For what share of the time is the sponge visible? Answer in percent.", "40%", False),
    ]


def answers(model: str, requests: list[Request], references: list[Reference], *, seed: int) -> list[Response]:
    """Simulated answers: `steady` errs anywhere, `moody` nearly only in every third video."""
    rng = stream(seed, "demo", model)
    found = []
    for request, reference in zip(requests, references, strict=True):
        hard_video = int(request.video[-2:]) % 3 == 0
        chance = 0.3 if model == "steady" else 0.75 if hard_video else 0.08
        content = _wrong(reference) if rng.random() < chance else _right(reference, rng.random())
        found.append(Response(reference.case, content, round(float(rng.gamma(4.0, 1.2)), 2)))
    return found[: len(found) - (3 if model == "moody" else 0)]


def _right(reference: Reference, chance: float) -> str:
    return reference.answer + ("." if chance < 0.2 else "")


def _wrong(reference: Reference) -> str:
    return {
        "binary": "no" if reference.answer == "yes" else "yes",
        "number": "two clips" if reference.answer == "2" else "7",
        "fo_class": "Sponge",
        "time": "00:59:59",
        "percentage": "90%",
        "multiple_choice": "B",
    }.get(reference.format, "I cannot tell from this view")


def _stamp(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


AXES = ("decision_impact", "required_knowledge")


def scored_models(
    root: Path, *, videos: int = 12, models: tuple[str, ...] = MODELS, profile: str = "native"
) -> list[Path]:
    """Folders of scored models on questions that differ in everything a supplement looks at."""
    requests, references = questions()
    kept = {request.case for request in requests if int(request.video[-2:]) <= videos}
    further = (Capability.TEMPORAL_LOCALIZATION, Capability.SPATIAL_LOCALIZATION_SITUS)
    requests = [
        replace(one, end_s=one.start_s + (0, 60, 900)[place % 3])
        for place, one in enumerate(requests)
        if one.case in kept
    ]
    references = [
        replace(
            one, secondaries=further[: place % 3],
            strata=dict(zip(AXES, (("high", "low")[place % 2], ("anatomy", "none")[place % 5 == 0]), strict=True)),
        )
        for place, one in enumerate(references) if one.case in kept
    ]  # fmt: skip
    write_json_rows((one.as_row() for one in requests), root / "requests.json")
    write_json_rows((one.as_row() for one in references), root / "references.json")
    for model in models:
        given = [one for one in answers(model, requests, references, seed=42) if one.case in kept]
        write_json_rows((one.as_row() for one in given), root / f"{model}.json")
        surgvalid.score(
            root / "requests.json", root / "references.json", root / f"{model}.json", model=model, judges=["exact"],
            replicates=20, profile=profile,
        ).to_dir(root / model)  # fmt: skip
    return [root / model for model in models]
