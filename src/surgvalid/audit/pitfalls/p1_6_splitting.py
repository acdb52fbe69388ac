"""P1.6: what is tested on was seen before."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NotThere, Weight, failed, judged, passed, unknown
from surgvalid.audit.measures import listed
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.datasets import DATA_SETS, leakage_table, shared_videos
from surgvalid.errors import Misuse
from surgvalid.schema.tables.spellings import PLACEHOLDERS, SpelledNames, names_in_both, spelled_names
from surgvalid.schema.tables.splits import is_test

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
    "leading zeros, file endings, folders, marks of copies or words for one thing (pat, patient); the split of what "
    "was scored; videos that known data sets share, and on what models were chosen. Fails on every overlap with a test "
    "split, where scores are of another split, and where models were chosen on it. Parts of one operation (pat3a, "
    "pat3_left) on both sides, and two numberings that both begin at 1, are to be looked at.",
    "Split by patient; keep copies and follow-up operations on one side; choose everything on a validation split.",
)
_DOUBTFUL = frozenset(
    "not no never without except but validation valid val train training dev cross-validation".split()
)
"""Words beside which a mention of the test split may mean anything."""


SCORED = "what was scored"


def test_pairs(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Pairs of splits, one of them a test split; two splits are a pair whatever they are called.

    Raises:
        NotThere: There are no two splits, or several and none of them is called a test split.
    """
    splits = rows["split"].unique().sort().to_list()
    pairs = [pair for pair in itertools.combinations(splits, 2) if is_test(pair[0]) != is_test(pair[1])]
    if not pairs and len(splits) == 2:
        return [(splits[0], splits[1])]
    if not pairs:
        raise NotThere(f"a split called test beside another one (there are {listed(splits)})")
    return pairs


def overlaps(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What stands on both sides: videos, patients, cases, contents."""
    rows = study.table("splits")
    rows = rows.drop(one.name for one in rows if one.null_count() == rows.height)
    pairs = test_pairs(rows)
    for column in ("patient", "video", "case", "content"):
        if column not in rows.columns:
            if column == "patient":
                count = rows["video"].n_unique()
                yield unknown(f"Patients are not named; each of the {count} videos counts as a patient.")
            continue
        held = {name: _names(rows.filter(split=name), column) for name in rows["split"].unique()}
        others = [(SCORED, name) for name in held if not is_test(name)] if any(map(is_test, held)) else []
        held[SCORED] = _scored(study, column, rows.columns)
        shared = {pair: names_in_both(*(held[one] for one in pair)) for pair in (*pairs, *others)}
        numbers = [
            AuditNumber(f"{column}s in both", float(len(both)), subject=" and ".join(pair))
            for pair, (both, _) in shared.items()
        ]
        bad, alike = (
            [
                f"{' and '.join(pair)} share {len(both[at])} ({listed(both[at])})"
                for pair, both in shared.items()
                if both[at]
            ]
            for at in (0, 1)
        )
        if column != "patient" and "patient" in rows.columns:
            alike = []
        blank = rows.filter(_nameless(column)).height
        if bad:
            yield failed(f"{column}: {'; '.join(bad)}.", *numbers, weight=Weight.HIGH)
        if alike:
            yield unknown(f"{column}: look at these: {'; '.join(alike)}. {_ALIKE}")
        if blank:
            yield unknown(f"{blank} of {rows.height} rows name no {column}: nobody can tell where those stand.")
        if not (bad or alike or blank):
            yield passed(f"No {column} stands in a test split and in another one.", *numbers)


_ALIKE = (
    "Parts of one operation, or numbers from 1 on both sides; where these are different patients, a column data_set "
    "(or patient) in the table of splits says so."
)


def _scored(study: AuditedStudy, column: str, known: Sequence[str]) -> SpelledNames:
    """The scored videos or patients, which are called patients where the scores and the splits name those."""
    frame = pl.DataFrame() if study.scores is None or not study.scores.has_videos else study.scores.frame
    whole = "patient" if study.scores and study.scores.unit.word == "patient" and "patient" in known else "video"
    ours = {whole: "video"} | ({"video": "video_id"} if "video_id" in frame.columns else {})
    return _names(frame.select(pl.col(ours[column]).alias(column)), column) if ours.get(column) in frame.columns else {}


def _names(rows: pl.DataFrame, column: str) -> SpelledNames:
    """Names by themselves without case, and but for contents by what else is left of them within one data set.

    What several videos call a case (`frame_0001`) is a place in each, and names none.
    """
    if column == "case":
        rows = rows.filter(pl.col("video").n_unique().over("case") == 1)
    source = pl.col("data_set").fill_null("") if "data_set" in rows.columns else pl.lit("")
    named = rows.filter(~_nameless(column)).select(
        pl.col(column).cast(pl.String).str.strip_chars(), source.alias("source")
    )
    return spelled_names(named.unique().sort(column, "source").iter_rows(), words=column != "content")


def _nameless(column: str) -> pl.Expr:
    """Whether a row says of something only that nobody knows its name."""
    return pl.col(column).cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase().is_in(PLACEHOLDERS)


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
