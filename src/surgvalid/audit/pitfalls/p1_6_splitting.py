"""P1.6: what is tested on was seen before."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NotThere, Weight, failed, judged, passed, unknown
from surgvalid.audit.measures import listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.datasets import DATA_SETS, leakage_table, shared_videos
from surgvalid.errors import Misuse
from surgvalid.schema.tables.column_words import PATIENTS, RECORDINGS

ABOUT = Pitfall(
    "P1.6",
    "Poor splits",
    Category.DATA,
    "Frames, videos or patients of the test set are in the training set as well, or models and thresholds were chosen "
    "on the test set, so that memory is measured instead of skill.",
    ("leakage", "unreliable"),
    (
        Seldom(14.0, "did not leave the test set untouched", 43),
        Seldom(37.2, "left it unclear whether the test set was touched", 43),
        Seldom(26.7, "did not handle hierarchies in splits properly", 45),
    ),
    "Videos, patients, cases and contents that stand in two splits, also where names differ in case, separators, "
    "leading zeros, file endings or words for one thing (pat, patient); videos that known data sets share, and on what "
    "models were chosen. Fails on every overlap with a test split, and where models were chosen on it.",
    "Split by patient; keep copies and follow-up operations on one side; choose everything on a validation split.",
)
TEST_WORDS = ("test", "testing", "evaluation", "holdout", "held-out", "hidden")
_DOUBTFUL = frozenset(
    "not no never without except but validation valid val train training dev cross-validation".split()
)
"""Words beside which a mention of the test split may mean anything."""
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_NAMED = ({"id", "no", "nr"}, {"p", "pt", *PATIENTS}, {"v", "vid", "video"}, {"op", *RECORDINGS} - {"video"}, {"case"})
_THINGS = {word: thing for thing, words in enumerate(_NAMED) for word in words}
"""Words before the number of an identifier that people write or leave out, by the thing that they name; 0 is any."""
_ENDINGS = re.compile(r"\.(?:mp4|m4v|mpe?g|avi|mov|mkv|webm|png|jpe?g|tiff?|dcm|nii|gz|0)$")
"""Of files, and of whole numbers that were read as decimals."""
_COUNTER = 4
"""Digits that a number given by counting has at most: patient 3 and video 3 are nothing that agrees."""


def is_test(split: str) -> bool:
    """Whether a split is one that values are reported on."""
    return any(split.strip().lower().startswith(word) for word in TEST_WORDS)


def test_pairs(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Pairs of splits, one of them a test split.

    Raises:
        NotThere: There are no two splits, or none of them is called a test split.
    """
    splits = rows["split"].unique().sort().to_list()
    pairs = [pair for pair in itertools.combinations(splits, 2) if is_test(pair[0]) != is_test(pair[1])]
    if not pairs:
        raise NotThere(f"a split called test beside another one (there are {listed(splits)})")
    return pairs


def overlaps(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What stands on both sides: videos, patients, cases, contents."""
    rows = study.table("splits")
    pairs = test_pairs(rows)
    for column in ("patient", "video", "case", "content"):
        if column not in rows.columns or rows[column].null_count() == rows.height:
            if column == "patient":
                count = rows["video"].n_unique()
                yield unknown(f"Patients are not named; each of the {count} videos counts as a patient.")
            continue
        held = {name: _names(rows.filter(pl.col("split") == name), column) for name in rows["split"].unique()}
        shared = {pair: _in_both(held[pair[0]], held[pair[1]]) for pair in pairs}
        numbers = [
            AuditNumber(f"{column}s in both", float(len(both)), subject=f"{one} and {other}")
            for (one, other), both in shared.items()
        ]
        bad = [f"{one} and {other} share {len(both)} ({listed(both)})" for (one, other), both in shared.items() if both]
        yield judged(
            bad,
            f"{column}: {'; '.join(bad)}.",
            f"No {column} stands in a test split and in another one.",
            *numbers,
            weight=Weight.HIGH,
        )


def plain_name(name: str) -> tuple[str, frozenset[int]]:
    """What is left of an identifier without case, separators, zeros before numbers, endings and words as `patient`.

    With it the things that such words name, where it does no more than count them.

    Example:
        >>> plain_name("pat003") == plain_name("Patient-3"), plain_name("A3") == plain_name("B3")
        (True, False)
    """
    pieces = _PIECES.findall(_ENDINGS.sub("", _ENDINGS.sub("", name.casefold())))
    kept = [piece.lstrip("0") or "0" if piece.isdigit() else piece for piece in pieces if piece not in _THINGS]
    longest = max((len(piece) for piece in kept if piece.isdigit()), default=0)
    things = {_THINGS[piece] for piece in pieces if longest <= _COUNTER and _THINGS.get(piece)}
    return " ".join(kept if longest else pieces), frozenset(things)


_Names = dict[tuple[str, ...], dict[frozenset[int], str]]


def _names(rows: pl.DataFrame, column: str) -> _Names:
    """Names by themselves without case, and but for contents by what else is left of them within one data set."""
    source = pl.col("data_set").fill_null("") if "data_set" in rows.columns else pl.lit("")
    named = rows.drop_nulls(column).select(pl.col(column).cast(pl.String).str.strip_chars(), source.alias("source"))
    names: _Names = {}
    for name, of_set in named.unique().sort(column, "source").iter_rows():
        names[(name.casefold(),)] = {frozenset(): name}
        if column != "content":
            plain, things = plain_name(name)
            names.setdefault((plain, of_set), {})[things] = name
    return names


def _in_both(some: _Names, others: _Names) -> list[str]:
    """Names on both sides; those that are written in two ways with both."""
    pairs = {
        one: other
        for key in sorted(some.keys() & others.keys(), key=len, reverse=True)
        for things, one in some[key].items()
        for words, other in others[key].items()
        if things <= words or words <= things
    }
    return sorted(one if one.casefold() == other.casefold() else f"{one} = {other}" for one, other in pairs.items())


def known_data_sets(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Videos that public data sets share, where the splits come from several."""
    rows = study.table("splits", "data_set").drop_nulls("data_set")
    test_pairs(rows)
    tested = rows["split"].map_elements(is_test, return_dtype=pl.Boolean)
    test, other = rows.filter(tested), rows.filter(~tested)
    pairs = set(itertools.product(test["data_set"].unique(), other["data_set"].unique()))
    known = {frozenset(row[:2]) for row in leakage_table().select("data_set_a", "data_set_b").rows()}
    looked_at = sorted(pair for pair in pairs if frozenset(pair) in known and set(pair) <= set(DATA_SETS))
    if not looked_at:
        raise NotThere("two data sets of which it is known which videos they share")
    for ours, theirs in looked_at:
        mine = test.filter(pl.col("data_set") == ours)["video"].unique().to_list()
        yours = other.filter(pl.col("data_set") == theirs)["video"].unique().to_list()
        try:
            both = shared_videos(ours, mine, theirs, yours)
        except Misuse as error:
            raise NotThere(f"names by which shared videos are known ({error})") from None
        number = AuditNumber("shared videos", float(len(both)), subject=f"{ours} and {theirs}")
        text = f"{ours} (test) and {theirs} (trained on) share {len(both)} videos"
        yield judged(both, f"{text}: {listed(both)}.", f"{text}.", number, weight=Weight.HIGH)


def tuned_elsewhere(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """On what models and thresholds were chosen."""
    answer = study.answer("tuned_on")
    if answer is False:
        yield passed("By the study's own word nothing was chosen.")
        return
    words = re.findall(r"[\w-]+", str(answer).lower())
    if not any(map(is_test, words)):
        yield passed(f"Models and thresholds were chosen on {answer!r}.")
    elif _DOUBTFUL & set(words):
        raise NotThere(f"whether {answer!r} means the test split (answers.tuned_on: the name of the split is enough)")
    else:
        yield failed(
            f"Models or thresholds were chosen on {answer!r}, which values are reported on.", weight=Weight.HIGH
        )


def no_defects(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What the data cards of question sets say of leaks between splits."""
    cards = [card for made in study.of("questions") if isinstance(card := made.records.get("data_card"), dict)]
    leaks = [text for card in cards for text in card.get("defects", ()) if "share" in str(text)]
    if not cards:
        raise NotThere("the data card of a question set")
    kept = f" ({len(leaks)} pairs of videos with common frames are kept on one side)" if leaks else ""
    yield passed(f"The question set was split by patient, copies on one side{kept}.")


LOOKS = (
    Look("overlaps between splits", overlaps),
    Look("choice of models and thresholds", tuned_elsewhere),
    Look("videos shared with known data sets", known_data_sets, needed=False),
    Look("copies between splits", no_defects, needed=False),
)
