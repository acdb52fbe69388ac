"""The two reference participants: short, and doing what they say."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repository import REPOSITORY
from surgvalid.asking.plan import PlanState
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.submissions.rehearsal import RehearsalSettings, rehearse
from surgvalid.video.clips import burn_clock

FOLDER = REPOSITORY / "examples"
SIMULATIONS = {"simulated_instruments", "erring_annotators"}
"""Examples that take part in nothing."""
WHITE, GREEN, DARK = (240, 240, 238), (90, 140, 50), (120, 50, 45)
BLUE, PURPLE = (12, 40, 150), (140, 70, 215)


def load(name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rules() -> types.ModuleType:
    pytest.importorskip("av", reason="the participant that looks needs PyAV")
    return load("clock_and_colours")


def picture(rules: Any, colour: tuple[int, int, int] | None, second: int | None = None) -> np.ndarray:
    """Dark tissue, a patch of one colour, and a clock."""
    found = np.full((144, 256, 3), DARK, dtype=np.uint8)
    if colour:
        found[60:110, 80:160] = colour
    if second is not None:
        text = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        dots = np.zeros((9, 49), dtype=bool)
        for place, sign in enumerate(text):
            dots[1:8, 6 * place + 1 : 6 * place + 6] = [[d == "1" for d in r] for r in rules.DIGITS[sign].split()]
        found[1:10, 1:50] = np.where(dots, 235, 16)[..., None]
    return found


def write_video(path: Path, pictures: list[np.ndarray]) -> None:
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(1))
        stream.width, stream.height, stream.pix_fmt = 256, 144, "yuv420p"  # type: ignore[union-attr]
        stream.bit_rate = 4_000_000  # type: ignore[union-attr]
        for one in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(one, format="rgb24")))  # type: ignore[union-attr]
        container.mux(stream.encode(None))  # type: ignore[union-attr]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_an_entrant_is_short(path: Path) -> None:
    assert path.stem in SIMULATIONS or len(path.read_text(encoding="utf-8").splitlines()) < 150


def test_there_are_two_entrants() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - SIMULATIONS == {"clock_and_colours", "template_prior"}


# --- the blind one --------------------------------------------------------------------------------


def ask(text: str, procedure: str = "p") -> dict[str, Any]:
    return {"question": text, "procedure_type": procedure}


def test_the_prior_prefers_what_is_closest() -> None:
    prior = load("template_prior").Prior()
    for procedure, answer in (("a", "3"), ("a", "3"), ("b", "1"), ("b", "1"), ("b", "1")):
        prior.learn(ask("How many clips after 00:10? Answer with a number.", procedure), answer)
    assert prior.answer(ask("How many clips after 99:59? Answer with a number.", "a")) == "3"
    assert prior.answer(ask("How many clips after 99:59? Answer with a number.", "c")) == "1"
    assert prior.answer(ask("How many needles? Answer with a number.", "c")) == "1"
    assert prior.answer(ask("Is it safe? Answer yes or no.")) == "yes"
    assert prior.answer(ask("Why?")) == "unknown"


def test_the_prior_chooses_among_the_options_given() -> None:
    prior = load("template_prior").Prior()
    for answer in ("red", "red", "blue"):
        prior.learn(ask("Which colour has it? Select one: blue; green; red."), answer)
    assert prior.answer(ask("Which colour has it? Select one: blue; red; white.")) == "red"
    assert prior.answer(ask("Which colour has it? Select one: blue; white.")) == "blue"
    assert prior.ranked(ask("Which colour has it? Select one: white.")) == ["white"]


def test_the_blind_entrant_can_be_rehearsed(tmp_path: Path) -> None:
    rows = [Request(f"q{i}", "v", 0, 0, "p", "How many clips? Answer with a number.") for i in range(4)]
    known = [Reference(f"q{i}", Capability.read("3a"), "number", "7" if i else "2") for i in range(4)]
    (tmp_path / "in" / "videos").mkdir(parents=True)
    (tmp_path / "in" / "videos" / "v.mp4").write_bytes(b"\0\0\0\x18ftypisom")
    (tmp_path / "in" / "request.json").write_text(json.dumps([r.as_row() for r in rows]))
    (tmp_path / "in" / "references.json").write_text(json.dumps([r.as_row() for r in known]))
    command = (
        sys.executable, str(FOLDER / "template_prior.py"), str(tmp_path / "in" / "request.json"),
        str(tmp_path / "in" / "references.json"),
    )  # fmt: skip
    found = rehearse(tmp_path / "in", out=tmp_path / "out", command=with_path(command), settings=SETTINGS)
    assert found.score is not None
    assert found.score.headline["accuracy"] == pytest.approx(0.75)


SETTINGS = RehearsalSettings(state=PlanState.FREE, budget_s=60.0, replicates=10, clock=True)


def with_path(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with our source in reach, whether the package is installed or not."""
    source = str(REPOSITORY / "src")
    start = (
        f"import runpy, sys; sys.path[:0] = [{source!r}, {str(FOLDER)!r}]; sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return (command[0], "-c", start, *command[1:])


# --- the one that looks ---------------------------------------------------------------------------


@pytest.mark.parametrize("second", [0, 59, 3725, 12345, 359999])
def test_the_clock_is_read(rules: Any, second: int) -> None:
    assert rules.read_clock(picture(rules, GREEN, second)) == second


def test_no_clock_is_no_time(rules: Any) -> None:
    assert rules.read_clock(picture(rules, WHITE)) is None
    assert rules.read_clock(np.zeros((4, 4, 3), dtype=np.uint8)) is None


def test_the_clock_of_our_own_videos_is_read(rules: Any) -> None:
    luma = np.full((270, 480), 60, dtype=np.uint8)
    burn_clock(luma, (), 3725.0)
    assert rules.read_clock(np.repeat(luma[..., None], 3, axis=2)) == 3725


@pytest.mark.parametrize(
    ("colour", "found"),
    [(WHITE, "Sponge"), (GREEN, "Specimen"), (BLUE, "Specimen Bag"), (PURPLE, "Clip"), (None, None)],
)
@pytest.mark.parametrize("light", [0.4, 1.0])
def test_colours_are_told_apart_in_any_light(rules: Any, colour: Any, found: str | None, light: float) -> None:
    seen = rules.classes_in((picture(rules, colour, 5) * light).astype(np.uint8))
    assert set(seen) == ({found} if found else set())
    for down, right in seen.values():
        assert (down, right) == pytest.approx((85 / 144, 120 / 256), abs=0.05)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("When is a sponge first visible? Answer as hh:mm:ss.", "00:00:12"),
        ("When is a sponge last visible? Answer as hh:mm:ss.", "00:00:14"),
        ("Is a sponge visible? Answer yes or no.", "yes"),
        ("Are a sponge and a specimen visible together? Answer yes or no.", "no"),
        ("In what share of frames is a sponge visible? Answer in %.", "50%"),
        ("How many different classes are visible at once? Answer with a number.", "1"),
        ("Which foreign objects are visible? Answer with class names.", "Specimen, Sponge"),
    ],
)
def test_answers_come_in_the_wanted_format(rules: Any, text: str, wanted: str) -> None:
    sponge, specimen = {"Sponge": (0.2, 0.3)}, {"Specimen": (0.8, 0.7)}
    seen = [(10.0, {}), (12.0, sponge), (14.0, sponge), (16.0, specimen)]
    assert rules.worded(text, seen, 10.0, []) == wanted


CLASSES = "Which classes of foreign objects are visible? Answer with the class names, separated by commas, or none."
ONLY = "There is a single foreign object in this image. What is it? Answer with the class name."
LARGEST = "Which foreign object has the largest bounding box in this image? Answer with the class name."
QUADRANT = "In which quadrant of the image is the {}? Select one: lower left; lower right; upper left; upper right."


@pytest.mark.parametrize(
    ("text", "known", "ranked", "wanted"),
    [
        (CLASSES, {"Clip": (0.1, 0.1)}, ["Sponge", "Clip, Needle", "Clip"], "Clip, Needle"),
        (CLASSES, {"Clip": (0.1, 0.1), "Sponge": (0.1, 0.1)}, ["Needle"], "Clip, Sponge"),
        (CLASSES, {}, ["Needle", "Clip"], "Needle"),
        (ONLY, {"Clip": (0.1, 0.1)}, ["Needle", "Sponge", "Clip"], "Clip"),
        (ONLY, {}, ["Sponge", "Needle"], "Needle"),
        (LARGEST, {"Clip": (0.1, 0.1)}, ["Clip", "Mesh"], "Mesh"),
        (QUADRANT.format("clip"), {"Clip": (0.9, 0.1)}, ["upper left"], "lower left"),
        (QUADRANT.format("needle"), {"Clip": (0.9, 0.1)}, ["upper left"], "upper left"),
        ("May the only foreign object be left in the body? Answer with yes or no.", {"Clip": (0, 0)}, ["no"], "yes"),
        ("Is a mesh visible? Answer with yes or no.", {"Clip": (0, 0)}, ["yes"], "yes"),
        ("How many clips are visible in this image? Answer with a number.", {"Clip": (0, 0)}, ["3"], "3"),
        ("How many needles are visible? Answer with a number.", {}, ["two"], "0"),
        ("What is it used for? Answer in a few words.", {}, ["closing a vessel"], "closing a vessel"),
    ],
)
def test_a_guess_is_taken_that_agrees_with_what_was_seen(
    rules: Any, text: str, known: Any, ranked: list[str], wanted: str
) -> None:
    assert rules.worded(text, [(0.0, known)], 0.0, ranked) == wanted


def test_the_entrant_that_looks_can_be_rehearsed_on_video(rules: Any, tmp_path: Path) -> None:
    pictures = [picture(rules, WHITE if 3 <= i < 6 else None, 100 + i) for i in range(8)]
    write_video(tmp_path / "in" / "overlayed" / "v.mp4", pictures)
    texts = (
        ("q0", "2a", "time", "When is a sponge first visible? Answer as hh:mm:ss.", "00:01:43"),
        ("q1", "1a", "binary", "Is a specimen visible? Answer with yes or no.", "no"),
    )
    rows = [Request(case, "v", 100, 107, "p", text).as_row() for case, _, _, text, _ in texts]
    known = [Reference(case, Capability.read(code), form, answer).as_row() for case, code, form, _, answer in texts]
    (tmp_path / "in" / "request.json").write_text(json.dumps(rows))
    (tmp_path / "in" / "references.json").write_text(json.dumps(known))
    command = (sys.executable, str(FOLDER / "clock_and_colours.py"))
    training = (str(tmp_path / "in" / "request.json"), str(tmp_path / "in" / "references.json"))
    for number, arguments in enumerate(((), training)):
        out = tmp_path / f"out-{number}"
        found = rehearse(tmp_path / "in", out=out, command=with_path((*command, *arguments)), settings=SETTINGS)
        assert found.run.outcomes == {"ok": 2}, found.prose
        assert found.score is not None
        assert found.score.headline["accuracy"] == pytest.approx(1.0)
