"""Legal and illegal texts per format (specification: answer formats of toolkit 0.4.0)."""

import pytest
from hypothesis import example, given

from builders import ANSWERS
from strategies import formats_and_answers
from surgvalid.errors import UnknownName
from surgvalid.schema.questions.formats import (
    FORMATS,
    JUDGED,
    AnswerFormat,
    BadParameters,
    Rules,
    Unreadable,
    build_format,
    normalize,
    time_tolerance_s,
)

LEGAL = {
    "binary": {"yes": True, " YES. ": True, "no .": False, "\u00a0No\u001c": False},
    "number": {"3": 3, "3.": 3, "003": 3, " 3 ": 3, "٣": 3, "１２": 12, "0": 0},
    "percentage": {"50": 50.0, "50%": 50.0, "50.5 %": 50.5, "٥٠": 50.0, "5.": 5.0},
    "fo_class": {
        "clip": {"Clip"}, "Clip, SPONGE,": {"Clip", "Sponge"}, "none": {"None"}, "none,": {"None"},
        "Clip, Clip.": {"Clip"},
    },
    "time": {"00:01:05": (65,), "99:59:59.": (359999,), "00:00:02, 00:00:01, 00:00:01": (1, 1, 2), "٠٠:٠٠:٠١": (1,)},
    "open_ended": {"": "", " a. ": "a.", "x" * 300: "x" * 300},
    "multiple_choice": {"B": "B"},
    "matching": {" A-1 ": "A-1"},
}  # fmt: skip
ILLEGAL = {
    "binary": ["", " ", ".", "yes..", "Yes!", '"yes"', "y", "true", "ｙｅｓ", "yes\u200b"],
    "number": ["", "+3", "-1", "3.0", "1,000", "1_0", "two", "²", "①", "3 clips", "9" * 4301],
    "percentage": ["", "50.%", ".5", "1e2", "-5", "50,5", "50%%", "fifty", "% 50"],
    "fo_class": ["", ",", ".", "none, none", "none, Clip", "Clip., Sponge", "Clip; Sponge", "Clip and Sponge", "Clips"],
    "time": ["", "1:05", "00:60:00", "00:00:60", "00:00:00.5", "000:00:00", "00:00:01 00:00:02", "²²:00:00"],
    "open_ended": ["x" * 301],
    "multiple_choice": ["é" * 301],
    "matching": ["", "A-12", "A-1.", "x" * 301],
}


def built(name: str) -> AnswerFormat:
    return build_format(name, {"pattern": "[A-Z]-[0-9]"} if name == "matching" else {})


def test_every_format_is_covered_here() -> None:
    assert set(LEGAL) == set(ILLEGAL) == set(ANSWERS) == set(FORMATS)
    assert {"open_ended", "multiple_choice", "matching"} == JUDGED


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in LEGAL for text in LEGAL[name]])
def test_legal_texts_are_read(name: str, text: str) -> None:
    assert built(name).parse(text) == LEGAL[name][text]
    assert built(name).why(text) is None


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in ILLEGAL for text in ILLEGAL[name]])
def test_illegal_texts_are_refused_with_a_reason(name: str, text: str) -> None:
    with pytest.raises(Unreadable):
        built(name).parse(text)
    why = built(name).why(text)
    assert why is not None
    assert why.rule
    assert len(why.message) < 200


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [
        ("binary", "Yes, it is", "yes"), ("binary", "true", "yes"), ("binary", "yes and no", None),
        ("number", "two clips", "2"), ("number", "3.0", "3"), ("number", "1,000", "1000"), ("number", "-1", None),
        ("number", "3.5", None), ("number", "between 2 and 3", None),
        ("percentage", "about 40", "40%"), ("percentage", "12,5", "12.5%"), ("percentage", ".5", "0.5%"),
        ("percentage", "-5", None),
        ("fo_class", "2 clips and a sponge", "Clip, Sponge"), ("fo_class", "specimen_bag", "Specimen Bag"),
        ("fo_class", "spnge", "Sponge"), ("fo_class", "none, Clip", None), ("fo_class", "bicycle", None),
        ("time", "1:05", "00:01:05"), ("time", "at 00:01:05!", "00:01:05"), ("time", "1:2:03", "01:02:03"),
        ("time", "00:75:00", None),
        ("open_ended", "One. " + "x" * 300, "One."), ("matching", "nothing", None),
    ],
)  # fmt: skip
def test_the_nearest_legal_text_is_what_was_meant(name: str, text: str, meant: str | None) -> None:
    why = built(name).why(text)
    assert why is not None
    assert why.nearest == meant


@given(formats_and_answers)
def test_any_answer_is_read_or_explained_and_every_suggestion_is_legal(pair: tuple[str, str]) -> None:
    name, text = pair
    answer_format = built(name)
    why = answer_format.why(text)
    assert (why is None) == answer_format.reads(text)
    if why is not None:
        assert why.nearest is None or answer_format.reads(why.nearest)


@given(formats_and_answers)
@example(("time", "0:0:0,0:0:0"))
def test_older_rules_never_crash_and_suggest_legal_texts_too(pair: tuple[str, str]) -> None:
    name, text = pair
    parameters = {"pattern": "[A-Z]-[0-9]"} if name == "matching" else {}
    older = build_format(name, parameters, rules=Rules(False, False, False))
    why = older.why(text)
    assert why is None or why.nearest is None or older.reads(why.nearest)


@given(formats_and_answers)
def test_whatever_is_read_agrees_with_itself_unless_it_is_judged(pair: tuple[str, str]) -> None:
    name, text = pair
    answer_format = built(name)
    if name not in JUDGED and answer_format.reads(text):
        value = answer_format.parse(text)
        assert answer_format.compare(value, value) or value == float("inf")


def test_tolerances_are_inclusive() -> None:
    share, stamp = build_format("percentage"), build_format("time", {"threshold_seconds": 2})
    assert share.compare(50.0, 55.0)
    assert not share.compare(50.0, 55.1)
    assert stamp.compare((10, 20), (12, 18))
    assert not stamp.compare((10,), (13,))
    assert not stamp.compare((10,), (10, 10))


def test_two_infinite_shares_do_not_agree() -> None:
    share = build_format("percentage")
    assert not share.compare(share.parse("9" * 400), share.parse("9" * 400))


def test_older_rules_forgive_less() -> None:
    older = Rules(trailing_period=False, percentage_tolerance=False, several_times=False)
    assert not build_format("binary", rules=older).reads("yes.")
    assert not build_format("percentage", rules=older).compare(50.0, 51.0)
    assert not build_format("time", rules=older).reads("00:00:01, 00:00:02")
    why = build_format("time", rules=older).why("00:00:01, 00:00:02")
    assert why is not None
    assert why.nearest == "00:00:01"


def test_one_full_stop_and_all_white_space_are_forgiven_but_no_zero_width_space() -> None:
    assert normalize("\u2003 yes .\n") == "yes"
    assert normalize("yes..") == "yes."
    assert normalize("yes\u200b") == "yes\u200b"


@pytest.mark.parametrize(
    ("window_s", "tolerance_s"), [(0, 1.0), (60, 1.6666666666666667), (300, 4.333333333333334), (360, 5.0), (9999, 5.0)]
)
def test_the_time_tolerance_grows_with_the_window(window_s: float, tolerance_s: float) -> None:
    assert time_tolerance_s(window_s) == tolerance_s


def test_an_unknown_format_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'percentage'"):
        build_format("percentages")


@pytest.mark.parametrize(
    ("name", "parameters", "part"),
    [
        ("matching", {}, "'pattern' is missing"),
        ("matching", {"pattern": "("}, "a regular expression"),
        ("time", {"threshold_seconds": "5"}, "a finite number"),
        ("time", {"threshold_seconds": float("nan")}, "a finite number"),
        ("percentage", {"threshold_pp": 10**400}, "a finite number"),
        ("time", {"threshold_second": 5}, "unknown parameter"),
        ("open_ended", {"max_length": True}, "a whole number"),
        ("fo_class", {"valid_names": []}, "a list of names"),
        ("binary", {"pattern": "x"}, "known: none"),
    ],
)
def test_unusable_parameters_are_named(name: str, parameters: dict[str, object], part: str) -> None:
    with pytest.raises(BadParameters, match=part):
        build_format(name, parameters)


def test_all_unusable_parameters_are_listed_at_once() -> None:
    with pytest.raises(BadParameters, match=r"'a'.*'b'.*'pattern' is missing"):
        build_format("matching", {"a": 1, "b": 2})


def test_classes_come_from_parameters_then_from_the_definitions() -> None:
    assert build_format("fo_class", class_names=("Tack",)).reads("tack")
    assert not build_format("fo_class", {"valid_names": ["Clip"]}, class_names=("Tack",)).reads("tack")
