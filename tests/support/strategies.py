"""Hypothesis strategies: answers of every format (legal, nearly legal, hostile) and score tables."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES

DIGITS = "0123456789" + "٠١٢٣٤٥٦٧٨٩" + "０１２３４５６７８９" + "०१२३" + "²³①"
"""Digits of several scripts; the last three are digits to `isdigit` but not to `int`."""

SPACES = " \t\n\r\u00a0\u2003\u3000\u001c\u200b"
"""White space to Python, except the last, the zero-width space."""

digits = st.text(DIGITS, min_size=1, max_size=5)
padding = st.text(SPACES, max_size=2)
ends = st.sampled_from(["", ".", " .", "..", "!", ",", "%", ";"])
hostile = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", ".", "..", ",", "none,", "None, none", "yes and no", "\x00", "9" * 4301, "1e2", "-1", "½"]
    ),
)


def _padded(body: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("{}{}{}{}".format, padding, body, ends, padding)


_stamp = st.builds("{}:{}:{}".format, *(st.text(DIGITS, min_size=1, max_size=2) for _ in range(3)))
_name = st.sampled_from([*CLASS_NAMES, "none", "clips", "sponge", "SPONGE", "Specimen_Bag", "a needle", "tack"])
_joined = st.sampled_from([",", ", ", " and ", "; ", ",,"])

_bodies: dict[str, st.SearchStrategy[str]] = {
    "binary": st.sampled_from(["yes", "No", "YES", "y", "true", "Yes, it is", "ｙｅｓ", '"yes"']),
    "number": st.one_of(
        digits, st.builds("{}{}".format, st.sampled_from(["+", "-", "1,", "about "]), digits), st.just("two")
    ),
    "percentage": st.one_of(digits, st.builds("{}{}{}".format, digits, st.sampled_from([".", ","]), digits)),
    "fo_class": st.lists(_name, min_size=1, max_size=4).flatmap(lambda names: _joined.map(lambda s: s.join(names))),
    "time": st.lists(_stamp, min_size=1, max_size=3).flatmap(lambda stamps: _joined.map(lambda s: s.join(stamps))),
    "open_ended": st.one_of(st.text(max_size=40), st.text("a. ", min_size=295, max_size=310)),
    "multiple_choice": st.sampled_from(["A", "B) the clip", "option 2", "x" * 301]),
    "matching": st.one_of(st.sampled_from(["A-1", "a-1", "A-12", " B-2 "]), st.text("AB-12", max_size=6)),
}


def answers(name: str) -> st.SearchStrategy[str]:
    """Answers to a question of the format `name`: legal ones, near misses, and anything."""
    return st.one_of(_padded(_bodies[name]), _bodies[name], hostile)


formats = st.sampled_from(sorted(_bodies))
formats_and_answers = formats.flatmap(lambda name: st.tuples(st.just(name), answers(name)))
"""(format, answer) pairs."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_rows = st.lists(st.dictionaries(st.text(max_size=4), json_values, max_size=4), max_size=6)


@st.composite
def score_columns(draw: st.DrawFn, *, max_models: int = 4, max_cases: int = 8) -> dict[str, Any]:
    """The columns of a score table of 0/1 scores, complete, with rows in any order."""
    models = [f"m{i}" for i in range(draw(st.integers(1, max_models)))]
    cases = draw(st.integers(1, max_cases))
    videos = [draw(st.integers(0, 3)) for _ in range(cases)]
    rows = [(model, f"q{i}", f"v{videos[i]}") for model in models for i in range(cases)]
    rows = draw(st.permutations(rows))
    values = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    model, case, video = (list(column) for column in zip(*rows, strict=True))
    return {"model": model, "case": case, "video": video, "value": values}
