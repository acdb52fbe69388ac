"""Who is independent: the unit of a table, by the order of evidence, and what it is called.

E1 somebody stated it; E2 a column names patients; E3 a column names recordings (videos, operations) or cases, scans,
studies, which may be patients; E4 names of images share a prefix; E5 nothing says it. Patients go before the videos
that lie within them: equal models of 6 patients with 5 videos each are told apart in 41 % of tables where videos count
as independent, in 4 % where patients do. The decision a reader would question: names that share a prefix are always
grouped, also where scores do not differ between groups, because a test that un-groups them lets 5 to 10 % of false
claims through and grouping costs little power.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import TableInvalid
from surgvalid.schema.tables.column_words import (
    CLINICS,
    DESCRIBING,
    HOLDERS,
    IMAGES,
    METRICS,
    PARTS,
    PATHS,
    PATIENTS,
    PLACES,
    RECORDINGS,
    REPEATS,
    named_by,
    plain_name,
    quoted,
    says_name,
)
from surgvalid.schema.tables.spellings import in_one_spelling
from surgvalid.schema.tables.tabular import told_apart_by

NOT_SAID = "(not said)"
"""What every row's unit is called where none is known: one unit, of which nothing varies."""
UNSAID = "nobody said what is independent"
"""Why a row has no interval and no number of units, where that is so."""
BELOW = "unit-below"
"""The code of the line that patients have several of what was stated to be independent."""
_VIDEO = re.compile(
    r"(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`|(?:(?<=column )|(?<=--unit ))videos?"
    r"|(?<![\w'`=/.-])(?<!'s )([Vv]ideo)(?=s?\b(?!['`=/-]|\.\w| files?\b| column| nested\b))"
)
"""What is quoted, the name of a column, or else (the group) a video that is counted."""
_FEWEST_GROUPS, _ENOUGH_GROUPS = 3, 6
_MOST_TYPES = 5
_DATE = re.compile(r"\d{4}(\D?\d\d){1,2}\b.*|\d\d?[./-]\d\d?[./-]\d{2,4}\b.*")
_TOKENS = {
    **dict.fromkeys("p pat patient pt subj sub subject".split(), "patient"),
    **dict.fromkeys(("op", "surgery"), "procedure"),
    **dict.fromkeys(("v", "vid", "video"), "video"),
    "case": "case",
}
"""Words within names that say what a number counts, with what sentences call it."""
_IN_FULL = dict.fromkeys(("img", "bild"), "image") | dict.fromkeys(("q", "qid", "frage"), "question")
"""Short or German headings, as sentences call them."""


@dataclass(frozen=True)
class Unit:
    """What counts as independent."""

    column: str = "video"
    """Where it stands; empty where nothing says it."""
    word: str = "video"
    level: str = "E3"
    """Of the evidence, E1 to E5."""
    if_each: bool = False
    """Whether it is independent only if each one is another patient, which nobody says."""

    @property
    def is_known(self) -> bool:
        """Whether anything says what is independent; without that no interval, p-value or winner is given."""
        return self.level != "E5"

    def counted(self, number: Any) -> Any:
        """A number of units, or of what else they are needed for; None where nothing says what is independent."""
        return number if self.is_known else None

    def called(self, text: str) -> str:
        """A text about videos with what is independent called as the table calls it."""
        return called(text, self.word) if self.is_known else text

    def as_dict(self) -> dict[str, Any]:
        """The unit as plain data."""
        return asdict(self)

    @classmethod
    def of_dict(cls, record: Mapping[str, Any]) -> Unit:
        """The unit in a record as `as_dict` makes it."""
        return cls(str(record["column"]), str(record["word"]), str(record["level"]), bool(record.get("if_each")))


def names_no_column(stated: str) -> bool:
    """Whether what was stated to be independent is a rule (`case`, `prefix:N`) or several columns joined by `+`."""
    return re.fullmatch(r"case|prefix:\d+|.+\+.+", stated) is not None


class Interpreted(NamedTuple):
    """One choice of the reader."""

    code: str
    column: str
    sentence: str


def called(text: str, word: str) -> str:
    """A text about videos about what is independent, by its word; names of columns, options and files stay.

    Example:
        >>> called("Videos: 4 videos, each video a draw (columns: video=COLUMN)", "patient")
        'Patients: 4 patients, each patient a draw (columns: video=COLUMN)'
        >>> called("'my video net' on 4 videos of /data/video/a.csv; no video files, no column video", "patient")
        "'my video net' on 4 patients of /data/video/a.csv; no video files, no column video"
    """
    return _VIDEO.sub(lambda match: {"video": word, "Video": word.capitalize()}.get(match[1], match[0]), text)


def unit_word(lines: Iterable[Interpreted]) -> str:
    """What tables that were read so call what is independent.

    Example:
        >>> unit_word([Interpreted("unit", "Pat", "14 patients ('Pat') are independent")]), unit_word([])
        ('patient', 'video')
    """
    words = next((one.sentence.split() for one in lines if one.code == "unit"), [""])
    return words[1].removesuffix("s") if words[0] == "each" or words[0][:1].isdigit() else "video"


class Decided(NamedTuple):
    """The unit of a table, and the columns around it."""

    unit: Unit
    finer: tuple[str, ...]
    """Columns that name what lies within a unit; the unit's own where each is a case."""
    groups: pl.Series | None = None
    """The unit of each row, where no column holds it."""
    spoken: tuple[Interpreted, ...] = ()


def unit_of(
    name: str, frame: pl.DataFrame, *, stated: str | None = None, case: str | None = None, model: str | None = None
) -> Decided:
    """The unit of the rows of a table.

    Args:
        name: Of the table, for problems.
        frame: Its rows.
        stated: A column, several joined by `+`, `case`, or `prefix:N` (the first N parts of the names of cases).
        case: The column that names cases, where somebody says it; that says nothing about what is independent.
        model: The column that names models, where there is one.

    Raises:
        TableInvalid: Several columns may be the unit, or the one that was stated does not exist.
    """
    free = [column for column in frame.columns if column != model]
    images = [case] if case else named_by(free, IMAGES) or named_by(free, PATHS)
    holders = [column for column in named_by(free, HOLDERS) if column != case]
    patients, recordings = (named_by(free, words) for words in (PATIENTS, RECORDINGS))
    if model:
        holders = [column for column in holders if not _numbers_rows(frame, column, model)]
    known = [*patients, *holders, *named_by(recordings, {"video"}), *([case] if case else [])]
    types = _types(frame, recordings, known)
    recordings = [column for column in recordings if column not in types]
    spoken = tuple(
        Interpreted("type", column, f"{column!r} names a kind of operation, not an operation: it is a condition")
        for column in types
    )
    if stated is not None:
        decided = _as_said(name, frame, stated, [*patients, *recordings, *holders, *images])
        spoken += tuple(_below(frame, decided, patients))
    elif patients:
        decided = _by_column(frame, _one_of(name, frame, patients), [*patients, *recordings, *holders, *images], "E2")
    elif coarsest := _coarsest(name, frame, recordings, holders):
        decided = _by_column(frame, coarsest, [*recordings, *holders, *images], "E3")
        decided = by_video_names(name, frame, coarsest, decided)
        if decided.groups is None and (problem := holds_videos(frame, coarsest, decided.unit.word, free)):
            raise TableInvalid(name, [problem])
    else:
        word = plain_name(images[0]) if images else ""
        nothing = Unit("", "case" if case else _IN_FULL.get(word, word) or "row", "E5")
        decided = Decided(nothing, tuple(images))
        holds = case is not None and plain_name(case) in HOLDERS
        if images:
            decided = _by_names(frame, images[0], decided, only_words=holds)
        if case and holds and not decided.unit.is_known:
            decided = Decided(Unit(case, "case", "E3", True), (case,))
    if stated is None and (problem := _restart(frame, decided)):
        raise TableInvalid(name, [problem])
    return _in_one_spelling(frame, decided, spoken)


def _restart(frame: pl.DataFrame, decided: Decided) -> str:
    """The question whose numbers they are, where a number of a unit stands in several places; empty where none does."""
    column, places = decided.unit.column, named_by(frame.columns, CLINICS)
    if not column or decided.groups is not None or not frame[column].cast(pl.String).str.contains(r"^\d+$").all():
        return ""
    for place in places:
        pairs = frame.select(one_spelling(frame[place], place)[0], column).drop_nulls().unique().height
        if pairs > frame[column].n_unique():
            both, word = shlex.quote(f"{place}+{column}"), decided.unit.word
            return (
                f"numbers in {column!r} stand in several of {place!r} ({pairs:,} pairs): say --unit {both} if each "
                f"{place} counts anew, --unit {shlex.quote(column)} if each number is one {word}"
            )
    return ""


def _in_one_spelling(frame: pl.DataFrame, decided: Decided, spoken: tuple[Interpreted, ...]) -> Decided:
    """The decision in words, with one unit for all spellings of a name."""
    column, groups = decided.unit.column, decided.groups
    if not column:
        return decided._replace(spoken=(spoken_unit(frame, decided), *spoken))
    names, lines = one_spelling(frame[column] if groups is None else groups, column)
    if lines and groups is None:  # cases keep the names that tell their rows apart
        frame, finer = frame.with_columns(names.alias(column)), tuple(dict.fromkeys((column, *decided.finer)))
        return Decided(decided.unit, finer, names, (spoken_unit(frame, decided), *lines, *spoken))
    decided = decided._replace(groups=groups if groups is None else names)
    return decided._replace(spoken=(spoken_unit(frame, decided), *lines, *spoken))


def one_spelling(names: pl.Series, column: str) -> tuple[pl.Series, tuple[Interpreted, ...]]:
    """The names of units in a column as each was spelled first, and which had several spellings."""
    if names.dtype != pl.String:
        return names, ()
    merged, several = in_one_spelling(names)
    if not several:
        return names, ()
    shown = "; ".join(several[:3]) + (f"; {len(several) - 3} more" if len(several) > 3 else "")
    before, after = names.n_unique(), merged.n_unique()
    text = f"{before:,} names in {column!r} are {after:,} but for case, separators and leading zeros ({shown}): each is"
    return merged, (Interpreted("spelling", column, f"{text} taken as one; rename those that are not"),)


def spelled_as_one(frame: pl.DataFrame, decided: Decided, model: str | None) -> pl.DataFrame:
    """The rows with each unit in one spelling, where each model has only one of it: else its rows are told apart by it.

    Example:
        >>> rows = pl.DataFrame({"patient": ["P01", "p1"], "model": ["A", "B"]})
        >>> spelled_as_one(rows, unit_of("table", rows, model="model"), "model")["patient"].to_list()
        ['P01', 'P01']
    """
    column, groups = decided.unit.column, decided.groups
    if groups is None or model is None or decided.unit.level == "E4" or column not in decided.finer:
        return frame
    once = frame.with_columns(groups.alias(column))
    alike = once.select(model, column).unique().height == frame.select(model, column).unique().height
    return once if alike else frame


def spelled_apart(frame: pl.DataFrame, columns: Iterable[str]) -> list[Interpreted]:
    """Said of names of models and places that are alike but for their spelling: each counts as its own."""
    lines = []
    for column in (column for column in columns if frame[column].dtype == pl.String):
        for several in in_one_spelling(frame[column])[1][:3]:
            names = several.split(" = ")
            text = f"{', '.join(names)} in {column!r} are {len(names)} different ones; rename them if they are one"
            lines.append(Interpreted("spelling", column, text))
    return lines


def _by_column(frame: pl.DataFrame, column: str, named: Sequence[str], level: str) -> Decided:
    word = plain_name(column)
    called = "patient" if word in PATIENTS else {**PLACES, **RECORDINGS, **HOLDERS}.get(word, "group")
    finer = tuple(one for one in dict.fromkeys(named) if one != column and not _same(frame, one, column))
    alone = not finer and word in HOLDERS
    return Decided(Unit(column, called, level, level == "E3" and word in HOLDERS), (column,) if alone else finer)


def _same(frame: pl.DataFrame, one: str, other: str) -> bool:
    """Whether two columns name the same things in other words."""
    return _within(frame, one, other) and _within(frame, other, one)


def _within(frame: pl.DataFrame, fine: str, coarse: str) -> bool:
    """Whether each value of one column belongs to one value of another."""
    return frame.select({fine, coarse}).unique().height == frame[fine].n_unique()


def _one_of(name: str, frame: pl.DataFrame, columns: Sequence[str]) -> str:
    first = min(columns, key=lambda column: frame[column].n_unique())
    if not all(_within(frame, other, first) for other in columns):
        shown = " or ".join(f"--unit {shlex.quote(column)}" for column in columns)
        raise TableInvalid(name, [f"several columns may be the patient or video; say which: {shown}"])
    return first


def _types(frame: pl.DataFrame, recordings: Sequence[str], others: Sequence[str]) -> list[str]:
    """Columns of operations that name kinds of them: few values that several patients or videos share, or one."""
    chosen = []
    for column in recordings:
        if RECORDINGS[plain_name(column)] == "video":
            continue
        count = max((frame[one].n_unique() for one in others), default=0)
        values = frame[column].n_unique()
        shared = not all(_within(frame, column, one) for one in others)
        if values == 1 or (values <= max(_MOST_TYPES, count / 4) and shared):
            chosen.append(column)
    return chosen


def _numbers_rows(frame: pl.DataFrame, column: str, model: str) -> bool:
    """Whether no value of a column belongs to two models, though other columns tell the rows of each apart."""
    if frame[model].n_unique() == 1 or not _within(frame, column, model):
        return False
    others = named_by(frame.columns, {*PATIENTS, *RECORDINGS, *HOLDERS, *IMAGES, *METRICS, *PARTS, *REPEATS})
    telling = [one for one in others if one not in (column, model)]
    return bool(telling) and told_apart_by(frame, [model, *telling])


def _coarsest(name: str, frame: pl.DataFrame, recordings: Sequence[str], holders: Sequence[str]) -> str | None:
    """The column of recordings or cases within whose values all others lie; recordings where they cross cases."""
    if not (recordings or holders):
        return None
    ordered = sorted((*recordings, *holders), key=lambda column: frame[column].n_unique())
    first = ordered[0]
    if all(_within(frame, other, first) for other in ordered):
        return first
    return _one_of(name, frame, recordings) if recordings else _one_of(name, frame, holders)


def _as_said(name: str, frame: pl.DataFrame, stated: str, named: Sequence[str]) -> Decided:
    if match := re.fullmatch(r"prefix:([1-9]\d*)", stated):
        if not named:
            raise TableInvalid(name, [f"no column names cases whose beginning could be the unit (--unit {stated})"])
        finest = max(named, key=lambda column: frame[column].n_unique())
        groups = pl.Series([_prefix(text, int(match[1])) for text in frame[finest].cast(pl.String).fill_null("")])
        return Decided(Unit(finest, "group", "E1"), tuple(named), groups)
    parts = stated.split("+")
    if len(parts) > 1 and {*parts} <= {*frame.columns}:
        one = _by_column(frame, parts[-1], named, "E1")
        groups = frame.select(pl.concat_str(pl.col(parts).cast(pl.String), separator=" ")).to_series()
        return one._replace(finer=tuple(dict.fromkeys((*parts, *one.finer))), groups=groups)
    if stated in frame.columns:
        return _by_column(frame, stated, named, "E1")
    if stated == "case":
        return Decided(Unit("", "case", "E1"), tuple(named))
    has = quoted(frame.columns)
    raise TableInvalid(
        name, [f"--unit: column {stated!r} does not exist; the table has {has}; or say case or prefix:1"]
    )


def _below(frame: pl.DataFrame, decided: Decided, patients: Sequence[str]) -> Iterator[Interpreted]:
    """That patients have several of what was stated to be independent."""
    column, groups = decided.unit.column, decided.groups
    units = frame[column or decided.finer[0]] if groups is None and (column or decided.finer) else groups
    count = frame.height if units is None else units.n_unique()
    for one in patients:
        if one != column and frame[one].n_unique() < count:
            held = f"{frame[one].n_unique():,} patients ({one!r}) hold these {count:,} {decided.unit.word}s"
            yield Interpreted(BELOW, one, f"{held}, which count as independent because that was stated")


def _by_names(frame: pl.DataFrame, column: str, otherwise: Decided, *, only_words: bool) -> Decided:
    """Groups of names that begin alike."""
    texts = frame[column].cast(pl.String).fill_null("")
    if (chosen := prefix_level(texts.unique(maintain_order=True).to_list())) is None or (only_words and not chosen[1]):
        return otherwise
    level, word = chosen
    groups = pl.Series([_prefix(text, level) for text in texts])
    return Decided(Unit(column, word or "group", "E4"), otherwise.finer, groups)


def _parts(text: str) -> list[str]:
    """The parts of a name: letters with the digits behind them; without the ending of a file."""
    return re.findall(r"[^\W\d_]+\d*|\d+", re.sub(r"\.[A-Za-z][A-Za-z0-9]{1,4}$", "", text))


def says_when(column: pl.Series) -> bool:
    """Whether a column holds dates: no levels, however few there are."""
    texts = column.drop_nulls().unique().cast(pl.String)
    return column.dtype.is_temporal() or (len(texts) > 1 and all(map(_DATE.fullmatch, texts)))


def _prefix(text: str, level: int) -> str:
    """The first parts of a name as they stand in it.

    Example:
        >>> _prefix("pat_01/frame_7.png", 2), _prefix("p00c3", 1)
        ('pat_01', 'p00')
    """
    pattern = r"(?:[^\W\d_]+\d*|\d+)"
    match = re.match(rf"[\W_]*({pattern}(?:[\W_]*{pattern}){{0,{level - 1}}})", text)
    return match[1] if match else text


def prefix_level(names: Sequence[str]) -> tuple[int, str] | None:
    """How many leading parts of names are a patient or a video, and what they are called; None where nothing shows.

    Words within the names (`p`, `pat`, `video`, ...) decide; else the coarsest level with at least six groups, else
    that with most.

    Example:
        >>> prefix_level([f"p{patient}_frame_{frame}" for patient in range(4) for frame in range(3)])
        (1, 'patient')
        >>> prefix_level([f"img_{number}.png" for number in range(9)]) is None
        True
    """
    split = [_parts(name) for name in names]
    levels: dict[int, int] = {}
    for level in range(1, min(map(len, split), default=0)):
        members: dict[tuple[str, ...], int] = {}
        for parts in split:
            members[tuple(parts[:level])] = members.get(tuple(parts[:level]), 0) + 1
        if len(members) > 1 and 2 * sum(count > 1 for count in members.values()) > len(members):
            levels[level] = len(members)
    for level in levels:
        if word := _word(split[0], level):
            return level, word
    levels = {level: count for level, count in levels.items() if count >= _FEWEST_GROUPS}
    enough = [level for level, count in levels.items() if count >= _ENOUGH_GROUPS]
    if not levels:
        return None
    return (enough[0] if enough else max(levels, key=lambda level: levels[level])), ""


def _word(parts: Sequence[str], level: int) -> str:
    """What the last of some leading parts counts, where a word says it: `p01`, or `pat` before `01`."""
    last = parts[level - 1]
    word = parts[level - 2] if last.isdecimal() and level > 1 else last.rstrip("0123456789")
    return _TOKENS.get(word.casefold(), "") if last[-1].isdecimal() else ""


def by_video_names(name: str, frame: pl.DataFrame, column: str, otherwise: Decided) -> Decided:
    """The unit where names of videos begin with a patient's.

    Raises:
        TableInvalid: They merely begin alike, and nobody says whether what they share is a patient.
    """
    texts = frame[column].cast(pl.String).fill_null("").unique(maintain_order=True).to_list()
    chosen = None if all(_DATE.fullmatch(text) for text in texts) else prefix_level(texts)
    if chosen is None:
        return otherwise
    level, word = chosen
    if word:
        finer = tuple(dict.fromkeys((column, *otherwise.finer)))
        return _by_names(frame, column, otherwise._replace(finer=finer), only_words=True)
    groups = list(dict.fromkeys(_prefix(text, level) for text in texts))
    begun = f"names in {column!r} begin in {len(groups):,} ways ({', '.join(groups[:2])}, ...)"
    raise TableInvalid(
        name,
        [
            f"{begun}: say --unit prefix:{level} if these are patients, --unit {shlex.quote(column)} if every "
            f"{otherwise.unit.word} is of another patient"
        ],
    )


def holds_videos(frame: pl.DataFrame, column: str, word: str, columns: Iterable[str]) -> str:
    """The question whether another column names patients, where each of its values holds whole videos.

    A heading that says it is a name or number (`Kranken-Nr`) is enough; without one so many values have to hold the
    videos that they name no kinds of them, or more than a few of them be numbered (`K-017`). Places, dates, amounts,
    and parts are what they say.
    """
    known = {*PATIENTS, *RECORDINGS, *HOLDERS, *IMAGES, *PATHS, *METRICS, *PARTS, *REPEATS, *PLACES}
    count = frame[column].n_unique()
    for other in columns:
        cells, levels = frame[other], frame[other].n_unique()
        plain, named = plain_name(other), says_name(other)
        if plain in known or plain.split(" ")[0] in DESCRIBING or not 1 < levels < count or cells.null_count():
            continue
        if not (cells.dtype == pl.String or (named and cells.dtype.is_integer())):
            continue
        codes = levels > _MOST_TYPES and cells.cast(pl.String).str.contains(r"\d").all()
        if not (named or codes or levels > max(_MOST_TYPES, count / 4)) or not _within(frame, column, other):
            continue
        if not all(_DATE.fullmatch(text) for text in cells.cast(pl.String).unique()):
            return (
                f"each of the {count:,} {word}s lies within one of {levels:,} values of {other!r}: say --unit "
                f"{shlex.quote(other)} if these are patients, --unit {shlex.quote(column)} if every {word} is of "
                "another patient"
            )
    return ""


def spoken_unit(frame: pl.DataFrame, decided: Decided) -> Interpreted:
    """What is told about the unit."""
    unit = decided.unit
    if unit.level == "E5":
        sentence = (
            f"nothing says how many patients the {frame.height:,} rows come from: no unit of independence is named"
        )
        if decided.finer:
            count = frame.select(decided.finer).unique().height
            sentence = (
                f"nothing says how many patients the {count:,} {unit.word}s come from: no unit of independence is named"
            )
        return Interpreted("unit", unit.column, f"{sentence} (--unit)")
    if decided.groups is not None:
        names = decided.groups.unique(maintain_order=True).to_list()
        shown = ", ".join(names[:2]) + (", ..." if len(names) > 2 else "")
        how = "told apart as was stated" if unit.level == "E1" else f"read from the names in {unit.column!r}"
        return Interpreted("unit", unit.column, f"{len(names):,} {unit.word}s {how}: {shown}")
    if not unit.column:
        return Interpreted("unit", "", "each case counts as independent, as was stated")
    count = frame[unit.column].n_unique()
    least = count if unit.level == "E1" else 0  # what holds several of a stated unit does not lie within it
    within = [one for one in decided.finer if one != unit.column and frame[one].n_unique() >= least]
    rest = f"; {quoted(within)} {'lies' if len(within) == 1 else 'lie'} within" if within else ""
    if_each = f", if each {unit.word} is another patient" if unit.if_each else ""
    many = f"{unit.word} ({unit.column!r}) is" if count == 1 else f"{unit.word}s ({unit.column!r}) are"
    return Interpreted("unit", unit.column, f"{count:,} {many} independent{if_each}{rest}")
