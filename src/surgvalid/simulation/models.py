"""Models that answer with a chosen skill, so that rankings and failure analyses have a known truth.

Definition. For model m and case c of video v, with image conditions x:

    logit P(correct) = logit(skill[capability]) + sum_k sensitivity[k] x[c, k] + ood_shift [c is OOD]
                       + a_v + b_mv + d_c,    a_v ~ N(0, video_sd^2), b_mv ~ N(0, own_video_sd^2), d_c ~ N(0, case_sd^2)

This is the mixed model of the failure-analysis paper turned around. `a_v` and `d_c` (hard videos, hard
questions) are shared by all models answered under one seed, so that comparisons are paired as in reality;
`b_mv` belongs to one model. The skill is the chance on a typical case, not the average over cases: unequal
difficulty pulls averages towards one half. A wrong answer is plausible: legal in its format, and never counted as right
by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES, NONE
from surgvalid.schema.questions.formats import AnswerFormat, build_format
from surgvalid.schema.questions.questions import Reference, Request, Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.simulation.timelines import Draws
from surgvalid.stats.draws import stream

_TRIES = 40


def wrong_answer(reference: Reference, request: Request, form: AnswerFormat, rng: Draws) -> str:
    """A wrong answer to the question. Where the format lets nothing wrong be said, an empty answer."""
    drawer = _DRAWERS.get(reference.format, _free_text)
    for _ in range(_TRIES):
        text = drawer(reference.answer, request, rng)
        if not form.reads(text):
            continue
        if form.judged:
            if text.strip().casefold() != reference.answer.strip().casefold():
                return text
        elif not form.reads(reference.answer) or not form.compare(form.parse(reference.answer), form.parse(text)):
            return text
    return ""


def _binary(answer: str, _r: Request, _g: Draws) -> str:
    return "no" if answer.strip().lower().startswith("yes") else "yes"


def _number(answer: str, _r: Request, rng: Draws) -> str:
    """Mostly off by one or two, as counts go wrong."""
    digits = "".join(letter for letter in answer if letter.isdigit())[:9]
    return str(max(int(digits or 0) + int(rng.choice([-3, -2, -1, -1, -1, 1, 1, 1, 2, 3])), 0))


def _percentage(_answer: str, _r: Request, rng: Draws) -> str:
    return f"{int(rng.integers(0, 101))}%"


def _fo_class(answer: str, _r: Request, rng: Draws) -> str:
    """One class too many, one too few, or one mistaken for another."""
    named = [name.strip() for name in answer.split(",") if name.strip().lower() != NONE.lower()]
    others = [name for name in CLASS_NAMES if name.lower() not in {name.lower() for name in named}]
    kind = int(rng.integers(3))
    if named and kind != 0:
        named.pop(int(rng.integers(len(named))))
    if others and kind != 1:
        named.append(others[int(rng.integers(len(others)))])
    return ", ".join(named) or NONE


def _time(answer: str, request: Request, rng: Draws) -> str:
    """As many times as wanted, somewhere in the window."""
    count = max(answer.count(",") + 1, 1)
    low, high = int(request.start_s), max(int(request.end_s), int(request.start_s) + 60)
    seconds = sorted(int(second) for second in rng.integers(low, high + 1, count))
    return ", ".join(f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds)


def _free_text(_answer: str, _r: Request, rng: Draws) -> str:
    sayings = (
        "This cannot be seen in the video.",
        f"Because of the {CLASS_NAMES[int(rng.integers(len(CLASS_NAMES)))].lower()} that was used before.",
        "It was removed through the umbilical port.",
        "Nothing happens.",
        "In the left lower part of the image.",
    )
    return sayings[int(rng.integers(len(sayings)))]


def _multiple_choice(answer: str, request: Request, rng: Draws) -> str:
    """Another one of the options that the question spells out, or of the letters."""
    letters = [letter for letter in "ABCDE" if f"{letter})" in request.question or f"({letter}" in request.question]
    if len(answer.strip()) == 1 and len(letters) > 1:
        return letters[int(rng.integers(len(letters)))]
    after = request.question.rsplit(":", 1)[-1].strip(" .?")
    options = [choice.strip(" .?'\"") for choice in after.replace(" or ", ", ").replace(";", ",").split(",")]
    listed = [option for option in options if option and option.casefold() != answer.strip().casefold()]
    if len(options) > 1 and len(listed) < len(options):
        return listed[int(rng.integers(len(listed)))] if listed else "none of these"
    return _free_text(answer, request, rng)


def _matching(answer: str, request: Request, rng: Draws) -> str:
    """One of the pairs matched wrongly, with another of the choices that the question spells out."""
    pairs = [pair.rsplit(": ", 1) for pair in answer.split("; ")]
    after = request.question.rsplit("one of ", 1)[-1].removesuffix(" for each.")
    choices = [choice.strip() for choice in after.split(",")] if "one of " in request.question else []
    at = int(rng.integers(len(pairs)))
    others = [choice for choice in choices if choice != pairs[at][-1]]
    if others:
        pairs[at][-1] = others[int(rng.integers(len(others)))]
    return "; ".join(": ".join(pair) for pair in pairs)


_DRAWERS: Mapping[str, Callable[[str, Request, Draws], str]] = {
    "binary": _binary,
    "number": _number,
    "percentage": _percentage,
    "fo_class": _fo_class,
    "time": _time,
    "multiple_choice": _multiple_choice,
    "matching": _matching,
}


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A model whose strengths and weaknesses are known."""

    name: str
    skill: float = 0.6
    """Chance of a right answer on a typical case, where nothing else is said."""
    skills: Mapping[str, float] = field(default_factory=dict)
    """The same for single capabilities or groups, by name or code; a leaf goes before its group."""
    sensitivity: Mapping[str, float] = field(default_factory=dict)
    """Change of the log odds at full strength of an image condition, such as `{"background_smoke": -2.0}`."""
    ood_shift: float = 0.0
    """Change of the log odds for questions out of distribution."""
    video_sd: float = 0.0
    own_video_sd: float = 0.0
    case_sd: float = 0.0
    refuses: float = 0.0
    """Share of questions left without an answer."""
    latency_s: float = 1.0
    """Typical time per answer."""
    drawn_as: str = ""
    """The name under which its chances are drawn, where that is not its own: another name changes no answer then."""

    def skill_for(self, capability: Capability) -> float:
        """The chance on a typical case of that capability."""
        known = {Capability.read(name): value for name, value in self.skills.items()}
        return known.get(capability, known.get(capability.group, self.skill))


@dataclass(frozen=True, slots=True)
class SimulatedAnswers:
    """What a model answered, and the truth about it."""

    model: str
    responses: list[Response]
    table: pl.DataFrame
    """One row per case: model, case, video, probability, correct, answered."""


Conditions = Mapping[str, Mapping[str, float]]
"""By case, the strength of each image condition."""


def answer(
    model: SimulatedModel,
    requests: Sequence[Request],
    references: Sequence[Reference],
    *,
    seed: int,
    conditions: Conditions | None = None,
) -> SimulatedAnswers:
    """The model's answers to all questions that have a reference, in the order of the references.

    Args:
        model: Who answers.
        requests: The questions.
        references: Their right answers; wrong answers are made to differ from these under the format's own rule.
        seed: Draws hard videos and questions, the same for every model, and each model's own luck.
        conditions: Image conditions of each case, as `conditions_of` gives them.

    Raises:
        InputInvalid: References without a request.
        Misuse: A skill outside (0, 1).
    """
    asked = {request.case: request for request in requests}
    if lost := [reference.case for reference in references if reference.case not in asked]:
        raise InputInvalid("references", [f"{case!r} has no request" for case in lost])
    chances = probabilities(model, requests, references, seed=seed, conditions=conditions)
    rng = stream(seed, "model", model.drawn_as or model.name, "answers")
    responses, rows = [], []
    for reference, chance in zip(references, chances, strict=True):
        correct, refused = bool(rng.random() < chance), bool(rng.random() < model.refuses)
        request = asked[reference.case]
        form = build_format(reference.format, reference.parameters, class_names=CLASS_NAMES)
        text = reference.answer if correct else wrong_answer(reference, request, form, rng)
        latency_s = round(float(model.latency_s * rng.lognormal(0, 0.3)), 3)
        responses.append(Response(reference.case, None if refused else text, latency_s))
        rows.append((model.name, reference.case, request.video, float(chance), correct and not refused, not refused))
    names = ["model", "case", "video", "probability", "correct", "answered"]
    return SimulatedAnswers(model.name, responses, pl.DataFrame(rows, schema=names, orient="row"))


def probabilities(
    model: SimulatedModel,
    requests: Sequence[Request],
    references: Sequence[Reference],
    *,
    seed: int,
    conditions: Conditions | None = None,
) -> np.ndarray:
    """The chance of a right answer to each question, in the order of the references."""
    video_of = {request.case: request.video for request in requests}
    videos = sorted(set(video_of.values()))
    hard = {v: float(stream(seed, "hard video", v).normal()) for v in videos}
    of_video = {v: float(stream(seed, "model", model.drawn_as or model.name, "video", v).normal()) for v in videos}
    chances = []
    for reference in references:
        video = video_of[reference.case]
        skill = model.skill_for(reference.capability)
        if not 0 < skill < 1:
            raise Misuse(f"model {model.name!r}: a skill must lie between 0 and 1, got {skill}")
        here = (conditions or {}).get(reference.case, {})
        logit = np.log(skill / (1 - skill)) + sum(w * here.get(kind, 0.0) for kind, w in model.sensitivity.items())
        logit += (
            model.ood_shift * bool(reference.ood) + model.video_sd * hard[video] + model.own_video_sd * of_video[video]
        )
        logit += model.case_sd * float(stream(seed, "hard case", reference.case).normal())
        chances.append(1 / (1 + np.exp(-logit)))
    return np.array(chances)


def conditions_of(
    requests: Iterable[Request], levels: Iterable[tuple[str, Mapping[str, np.ndarray]]]
) -> dict[str, dict[str, float]]:
    """The image conditions of each question: their mean over its window (for a still, at its time).

    Args:
        requests: The questions.
        levels: By video, the strength of every condition at every whole second, as `Simulation.conditions` gives it.
    """
    windows: dict[str, list[Request]] = {}
    for request in requests:
        windows.setdefault(request.video, []).append(request)
    conditions: dict[str, dict[str, float]] = {}
    for video, strengths in levels:
        last = min((len(level) - 1 for level in strengths.values()), default=0)
        for request in windows.get(video, []):
            low = int(np.clip(request.start_s, 0, last))
            high = int(np.clip(np.floor(request.end_s) + 1, low + 1, last + 1))
            conditions[request.case] = {kind: float(level[low:high].mean()) for kind, level in strengths.items()}
    return conditions
