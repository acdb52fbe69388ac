"""Factories for small and FOCUS-sized question sets."""

from __future__ import annotations

import random
from typing import Any

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability

Questions = tuple[list[Request], list[Reference]]
PROCEDURES = ("Cholecystectomy", "Sigmoid Resection")


def question(
    case: str,
    answer: str,
    *,
    format: str = "binary",  # noqa: A002
    text: str = "Is a clip visible?",
    video: str = "v1",
    procedure: str = "Cholecystectomy",
    capability: str = "1a",
    ood: bool | None = False,
    window_s: tuple[float, float] = (0.0, 600.0),
    **parameters: Any,
) -> tuple[Request, Reference]:
    request = Request(case, video, *window_s, procedure, text)
    return request, Reference(case, Capability.read(capability), format, answer, parameters, ood=ood)


def split(pairs: list[tuple[Request, Reference]]) -> Questions:
    return [request for request, _ in pairs], [reference for _, reference in pairs]


def focus_like(size: int, videos: int, *, seed: int = 0) -> Questions:
    """Questions with the formats, window lengths and templates of the challenge, answers at random."""
    rng = random.Random(seed)
    return split([_random_question(rng, number, f"v{rng.randrange(videos):03}") for number in range(size)])


def _random_question(rng: random.Random, number: int, video: str) -> tuple[Request, Reference]:
    kind = rng.choices(["time", "fo_class", "number", "binary", "open_ended", "percentage"], [36, 25, 21, 9, 8, 1])[0]
    start = rng.randrange(0, 9000)
    clock = f"{start // 3600:02}:{start // 60 % 60:02}:{start % 60:02}"
    shape, name = rng.randrange(100), rng.choice(CLASS_NAMES)
    text = f"Shape {chr(97 + shape % 26)}{chr(97 + shape // 26)}: at {clock}, what about the {name}? Answer as {kind}."
    later = start + min(int(rng.expovariate(1 / 60)), 299)
    answer = {
        "time": f"{later // 3600:02}:{later // 60 % 60:02}:{later % 60:02}",
        "fo_class": ", ".join(rng.sample(CLASS_NAMES, rng.choice([1, 1, 1, 2, 3]))),
        "number": str(min(int(rng.expovariate(0.4)), 76)),
        "binary": rng.choice(["yes", "no", "no"]),
        "open_ended": f"near structure {rng.randrange(60)}",
        "percentage": f"{rng.randrange(101)}%",
    }[kind]
    parameters = {"threshold_seconds": 4.333333333333334} if kind == "time" else {}
    return question(
        f"q{number}",
        answer,
        format=kind,
        text=text,
        video=video,
        procedure=rng.choice(PROCEDURES),
        capability=rng.choice(["1a", "1d", "2a", "3a", "4a", "5a"]),
        ood=rng.random() < 0.3,
        window_s=(start, start + 300),
        **parameters,
    )
