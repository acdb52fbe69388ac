"""Who changed what, and what two people have verified: an append-only history of items under review.

An item is an instance of stage 4 or a question of stage 5. Its state follows from its entries alone:
    proposed    nobody has looked yet
    verified    one person approved what stands now
    confirmed   two different people did
    withdrawn   somebody took it out, for good
    disputed    somebody objected, and nothing was changed and nobody decided since
Nobody verifies their own work: an approval by whoever proposed or last changed the item does not count. A
change sets everything back, since nobody has looked at what stands now. Whoever adjudicates may uphold an item: the
objections so far no longer count, and the word of the adjudicator counts like an approval.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.questions.stages.box_tables import SIDES, needed_columns
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.schema.tables.tabular import as_frame


class Action(StrEnum):
    """What somebody did."""

    PROPOSED = "proposed"
    CHANGED = "changed"
    APPROVED = "approved"
    OBJECTED = "objected"
    UPHELD = "upheld"
    WITHDRAWN = "withdrawn"
    """It is not to be asked, whatever its answer."""
    UNSURE = "unsure"
    """It cannot be told from the image."""
    ANSWERED = "answered"
    """An answer that was given before the reference was shown; it says nothing of the reference."""
    UNDONE = "undone"
    """The last verdict of the same person on the same item does not count."""


class ReviewState(StrEnum):
    """Where an item stands."""

    PROPOSED = "proposed"
    VERIFIED = "verified"
    CONFIRMED = "confirmed"
    DISPUTED = "disputed"
    WITHDRAWN = "withdrawn"


VERDICTS = (Action.APPROVED, Action.OBJECTED, Action.WITHDRAWN, Action.UNSURE)
"""What a rater says of an item, and may take back."""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One thing that somebody did to one item."""

    item: str
    action: Action
    who: str
    at: str
    """When, as ISO 8601 text; entries of a history are in order."""
    field: str = ""
    before: str = ""
    after: str = ""
    note: str = ""


BOXES = "boxes"
"""The field of a proposal that tells which boxes were proposed."""
_COLUMNS = tuple(HistoryEntry.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class History:
    """Everything that was done, in order; adding gives a new history and forgets nothing.

    Example:
        >>> history = History().add("Clip 1", Action.PROPOSED, "linker", at="2026-05-01")
        >>> history = history.add("Clip 1", Action.APPROVED, "anna", at="2026-05-02")
        >>> history.state("Clip 1").value
        'verified'
    """

    entries: tuple[HistoryEntry, ...] = ()

    def add(
        self,
        item: str,
        action: Action,
        who: str,
        *,
        at: str,
        field: str = "",
        before: str = "",
        after: str = "",
        note: str = "",
    ) -> History:
        """The history with one entry more.

        Raises:
            Misuse: The entry cannot follow: unknown item, twice proposed, out of order, or a change of nothing.
        """
        entry = HistoryEntry(item, action, who, at, field, before, after, note)
        known = any(other.item == entry.item for other in self.entries)
        if problem := entry_problem(entry, known, self.entries[-1].at if self.entries else ""):
            raise Misuse(problem)
        return History((*self.entries, entry))

    def of(self, item: str) -> tuple[HistoryEntry, ...]:
        """The entries of one item."""
        return tuple(entry for entry in self.entries if entry.item == item)

    def reviews(self) -> Mapping[str, Judged]:
        """Where every item stands, and on whose word."""
        entries: dict[str, list[HistoryEntry]] = {}
        for entry in self.entries:
            entries.setdefault(entry.item, []).append(entry)
        return {item: judged(listed) for item, listed in entries.items()}

    def state(self, item: str) -> ReviewState:
        """Where an item stands.

        Raises:
            Misuse: Nobody ever proposed it.
        """
        if not (listed := self.of(item)):
            raise Misuse(f"nobody ever proposed {item!r}")
        return judged(listed).state

    def states(self) -> Mapping[str, ReviewState]:
        """Where every item stands."""
        return {item: one.state for item, one in self.reviews().items()}

    def proposed_boxes(self) -> Mapping[str, str]:
        """By item whose proposal stands unchanged, the digest of the boxes that were proposed."""
        last = {e.item: e for e in self.entries if e.action in (Action.PROPOSED, Action.CHANGED)}
        return {i: e.after for i, e in last.items() if e.action is Action.PROPOSED and e.field == BOXES}

    def table(self) -> pl.DataFrame:
        """The history as a plain table, one row per entry."""
        return pl.DataFrame([asdict(entry) for entry in self.entries], schema=dict.fromkeys(_COLUMNS, pl.String))


def entry_problem(entry: HistoryEntry, known: bool, last_at: str) -> str | None:
    """Why an entry cannot follow the others, of which the last was made at `last_at`, or None."""
    if not entry.who.strip() or not entry.item.strip():
        return f"an entry needs an item and a person, got {entry.item!r} and {entry.who!r}"
    if known == (entry.action is Action.PROPOSED):
        return f"{entry.item!r} was {'already' if known else 'never'} proposed"
    if entry.at < last_at:
        return f"entries come in order of time, got {entry.at} after {last_at}"
    if entry.action is Action.CHANGED and (not entry.field or entry.before == entry.after):
        return f"a change of {entry.item!r} needs a field and two different values"
    return None


def action_named(name: str) -> Action:
    """The action of that name.

    Raises:
        UnknownName: There is none.
    """
    if name not in list(Action):
        raise UnknownName("action", name, [action.value for action in Action])
    return Action(name)


def first_proposals(table: Any, who: str, *, at: str) -> History:
    """The history in which somebody, or a program, proposed every instance of a table of boxes.

    An item is called by its video and instance, such as `v1/Clip 2`. Its entry tells by a digest which boxes were
    proposed, so that nobody's approval passes to other boxes that bear the same name later.
    """
    frame = needed_columns(table, ("video", "instance"), "instances").unique(maintain_order=True)
    whole, marks = as_frame(table), dict[tuple[str, str], str]()
    if {"second", "class_name", *SIDES} <= set(whole.columns):
        for (video, instance), rows in whole.sort("second", maintain_order=True).group_by("video", "instance"):
            name = str(rows["class_name"].mode().sort()[0])
            marks[video, instance] = box_digest(name, rows["second"].to_numpy(), rows.select(SIDES).to_numpy())
    return History(
        tuple(
            HistoryEntry(
                f"{v}/{i}", Action.PROPOSED, who, at, field=BOXES if marks else "", after=marks.get((v, i), "")
            )
            for v, i in frame.sort("video").rows()
        )
    )


def box_digest(class_name: str, seconds: NDArray[np.integer[Any]], boxes: NDArray[np.floating[Any]]) -> str:
    """A short text that changes when the class, the seconds or a box of an object do (by a hundredth of a pixel)."""
    content = hashlib.blake2b(class_name.encode(), digest_size=8)
    content.update(np.ascontiguousarray(seconds, dtype=np.int64).tobytes())
    content.update(np.ascontiguousarray(np.rint(100 * np.asarray(boxes, dtype=np.float64)), dtype=np.int64).tobytes())
    return content.hexdigest()


def history_from(table: Any) -> History:
    """The history in a table that `History.table` wrote.

    Raises:
        TableInvalid: With every row that cannot follow those before it.
    """
    needed_columns(table, ("item", "action", "who", "at"), "history")
    return History(tuple(entries_from(as_frame(table).to_dicts())))


def entries_from(
    rows: Iterable[Mapping[str, Any]], *, known: Collection[str] = (), last_at: str = ""
) -> list[HistoryEntry]:
    """The entries in rows, which follow others on the items that are known.

    Raises:
        TableInvalid: With every row that cannot follow those before it.
    """
    entries, problems, new = list[HistoryEntry](), list[str](), set[str]()
    for number, row in enumerate(rows, start=1):
        if row["action"] not in list(Action):
            problems.append(f"row {number}: unknown action {row['action']!r}; known: {', '.join(Action)}")
            continue
        more = {name: str(row.get(name) or "") for name in _COLUMNS[4:]}
        entry = HistoryEntry(str(row["item"]), Action(row["action"]), str(row["who"]), str(row["at"]), **more)
        if problem := entry_problem(entry, entry.item in new or entry.item in known, last_at):
            problems.append(f"row {number}: {problem}")
            continue
        entries.append(entry)
        new.add(entry.item)
        last_at = entry.at
    if problems:
        raise TableInvalid("history", problems)
    return entries


def standing(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """The entries of one item without those that were taken back."""
    kept: list[HistoryEntry] = []
    for entry in entries:
        if entry.action is not Action.UNDONE:
            kept.append(entry)
        elif mine := [at for at, one in enumerate(kept) if one.who == entry.who and one.action in VERDICTS]:
            del kept[mine[-1]]
    return kept


def history_in(source: Any) -> History:
    """The history in a table, or in the file of one; without entries for None."""
    if source is None:
        return History()
    texts = ("item", "who", "at", "field", "before", "after", "note")
    return history_from(read_frame(Path(source), texts) if isinstance(source, str | Path) else source)


class Judged(NamedTuple):
    """Where an item stands, and on whose word."""

    state: ReviewState
    approved: set[str]
    """Who stands for it as it is now, but for whoever made it so."""
    against: Mapping[str, HistoryEntry]
    """By person, the objection or withdrawal that still counts."""
    changed: HistoryEntry | None
    """What made it what it is now, where that was not its first proposal."""

    @property
    def right(self) -> str | None:
        """The answer that whoever decided put in place of the first one."""
        return self.changed.after if self.changed and self.changed.field == "answer" else None


def judged(entries: Sequence[HistoryEntry]) -> Judged:
    """Where the item of these entries stands.

    A correction keeps the word of those who had asked for that very answer; nobody else has seen it yet.
    """
    author, changed, approved, objected = entries[0].who, None, set[str](), dict[str, HistoryEntry]()
    for entry in standing(entries):
        if entry.action in (Action.PROPOSED, Action.CHANGED):
            asked_for = {who for who, one in objected.items() if one.after and one.after == entry.after}
            author, approved, objected = entry.who, asked_for - {entry.who}, {}
            changed = entry if entry.action is Action.CHANGED else None
        elif entry.action is Action.OBJECTED:
            objected[entry.who] = entry
            approved.discard(entry.who)
        elif entry.action is Action.UPHELD:
            objected = {}
            approved |= {entry.who} - {author}
        elif entry.action is Action.WITHDRAWN:
            return Judged(ReviewState.WITHDRAWN, set(), {entry.who: entry}, changed)
        elif entry.action is Action.APPROVED and entry.who != author:
            approved.add(entry.who)
            objected.pop(entry.who, None)
    states = (ReviewState.PROPOSED, ReviewState.VERIFIED, ReviewState.CONFIRMED)
    state = ReviewState.DISPUTED if objected else states[min(len(approved), 2)]
    return Judged(state, approved, objected, changed)
