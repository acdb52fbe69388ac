"""Text from outside, made safe to show: models' names and answers are never more than text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from surgvalid.schema.shown_text import ELLIPSIS as ELLIPSIS
from surgvalid.schema.shown_text import FORMULA_STARTS
from surgvalid.schema.shown_text import plain as plain

_COLUMNS = {
    "ci_high": "to", "ci_low": "from", "df": "degrees of freedom", "gap_high": "gap to", "gap_low": "gap from",
    "high": "to", "late_share": "late", "low": "from", "macro_high": "accuracy to",
    "macro_low": "accuracy from", "max_s": "longest, s", "n": "units", "ood": "OOD",
    "p50_s": "median, s", "p95_s": "95th percentile, s",
    "p_adjusted": "p, corrected",
    "p_bh": "p, corrected (BH)", "p_corrected": "p, corrected",
    "p_holm": "p, corrected (Holm)", "p_value": "p",
    "place_high": "final rank to", "place_low": "final rank from", "rank_high": "rank to", "rank_low": "rank from",
    "sd": "standard deviation", "std_error": "standard error", "tau_b": "tau-b", "within_s": "within, s",
}  # fmt: skip
"""Columns that people call otherwise than files do."""


NAME_LIMIT = 48
_SHOWN_NAMES = 4


def name_of(model: object) -> str:
    """A model's name, short enough for a sentence."""
    return plain(model, limit=NAME_LIMIT) or "(no name)"


def names_of(models: Iterable[object], *, most: int = _SHOWN_NAMES) -> str:
    """Several names for a sentence; the rest are counted.

    Example:
        >>> names_of(["a", "b", "c"]), names_of(["a", "b", "c"], most=1)
        ('a, b and c', 'a and 2 more')
    """
    names = [name_of(model) for model in models]
    shown = names if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def count_of(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> count_of(1, "model"), count_of(20000, "question")
        ('1 model', '20,000 questions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float | None) -> str:
    """A share as a percentage; below one in ten with a digit more."""
    if share is None or share != share:
        return "unknown"
    return f"{100 * share:.1f} %" if 0 < share < 0.1 else f"{100 * share:.0f} %"


def slug(text: str) -> str:
    """Small letters, digits and hyphens, for names of files.

    Example:
        >>> slug("Technical board!"), slug("名")
        ('technical-board', 'x')
    """
    kept = "".join(char if char.isascii() and char.isalnum() else " " for char in text.lower())
    return "-".join(kept.split()) or "x"


def short_names(names: Iterable[object], *, limit: int = 28) -> dict[str, str]:
    """A short, distinct label for every name: what a chart can print beside a row.

    Example:
        >>> short_names(["model-with-a-long-name-1", "model-with-a-long-name-2"], limit=12)
        {'model-with-a-long-name-1': 'model-…ame-1', 'model-with-a-long-name-2': 'model-…ame-2'}
    """
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(str(name) for name in names):
        label, number = plain(name, limit=limit) or "(no name)", 2
        while label in taken:
            mark = f" ({number})"
            label, number = plain(name, limit=max(limit - len(mark), 1)) + mark, number + 1
        taken.add(label)
        labels[name] = label
    return labels


def column_words(name: str) -> str:
    """What a column is called where people read it.

    Example:
        >>> column_words("ci_low"), column_words("macro_accuracy")
        ('from', 'macro accuracy')
    """
    return _COLUMNS.get(name, name.replace("_", " "))


def term_words(term: object) -> str:
    """A term of a mixed model as people say it: `background_smoke[yes]` is smoke in the background.

    Example:
        >>> term_words("background_smoke[yes]"), term_words("center[B]"), term_words("ood")
        ('background smoke', 'center: B', 'ood')
    """
    text = plain(term)
    named, bracket, level = text.partition("[")
    if not bracket or not named or not level.endswith("]") or "[" in level:
        return text.replace("_", " ") if ":" not in text else text
    shown = named.replace("_", " ")
    return shown if level in ("yes]", "true]", "True]") else f"{shown}: {level[:-1]}"


_TERMS = {"ood": "cases unlike the training data", "clinical": "clinical questions"}
"""Properties that are named otherwise than by their column."""
SPOKEN_KINDS = {
    "object_recognition": "recognising objects",
    "temporal_grounding": "times and durations",
    "aggregation": "counting",
    "event_understanding": "events and their purpose",
    "complex_reasoning": "questions that take several steps",
}
"""Groups of capabilities in words that need no explanation."""


def spoken_term(term: str) -> str:
    """A property in words that need no explanation.

    Example:
        >>> spoken_term("background_smoke[yes]"), spoken_term("ood")
        ('background smoke', 'cases unlike the training data')
    """
    return _TERMS.get(term.partition("[")[0], "") or term_words(term)


def terms_in_words(text: str) -> str:
    """The text with every term of a mixed model in it as people say it.

    Example:
        >>> terms_in_words("Most harmful: background_smoke[yes] (odds ratio 0.5).")
        'Most harmful: background smoke (odds ratio 0.5).'
    """
    return re.sub(r"\w+\[[\w -]+\]", lambda match: term_words(match[0]), text)


def term_names(terms: Sequence[str]) -> dict[str, str]:
    """A short, distinct label for every term of a mixed model, in words."""
    distinct = list(dict.fromkeys(terms))
    spoken = [term_words(term) for term in distinct]
    if len(set(spoken)) < len(spoken):
        return short_names(distinct)
    labels = short_names(spoken)
    return {term: labels[words] for term, words in zip(distinct, spoken, strict=True)}


def csv_text(frame: pl.DataFrame) -> str:
    """The table as CSV in which no cell of text, heads of columns included, can run as a spreadsheet's formula.

    Example:
        >>> csv_text(pl.DataFrame({"model": ["=1+1"], "value": [-0.5]}))
        "model,value\\n'=1+1,-0.5\\n"
    """
    if not frame.columns:
        return ""
    flat = frame.with_columns(
        pl.col(name).map_elements(lambda value: str(list(value)), return_dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind.is_nested()
    )
    texts = [name for name, kind in flat.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    guarded = flat.with_columns(_guarded(pl.col(name).cast(pl.String)).alias(name) for name in texts)
    return str(guarded.rename(_guarded_heads(guarded.columns)).write_csv())


def _guarded_heads(columns: Sequence[str]) -> dict[str, str]:
    """New names for heads that would run; a name that another column has already gets one apostrophe more."""
    taken, renamed = set(columns), {}
    for name in columns:
        if name.startswith(FORMULA_STARTS):
            head = f"'{name}"
            while head in taken:
                head = f"'{head}"
            taken.add(head)
            renamed[name] = head
    return renamed


def _guarded(column: pl.Expr) -> pl.Expr:
    starts = column.str.slice(0, 1).is_in(list(FORMULA_STARTS))
    return pl.when(starts).then("'" + column).otherwise(column)
