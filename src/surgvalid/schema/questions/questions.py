"""Request, Reference and Response: the question, its reference answer and a model's answer.

`case` is the question's identifier everywhere in surgvalid; official files call it `qID`. Millions of them are kept as
columns (`ItemColumns`), which are read like a dictionary of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.taxonomy import Capability

DATA_SET_COLUMNS = tuple(
    """
    id video procedure_type question answer answer_format track generation clinical_relevance ood timestamp_start
    timestamp_end primary_capability secondary_capabilities
    """.split()
)
"""The columns of a public FOCUS data set."""

TRACK_LIMITS_S = {"frame": 5.0, "segment": 15.0, "procedure": 30.0}
"""Seconds that a model may take per question on each track of the challenge."""

STRATA_COLUMNS = tuple(
    "track generation center phase decision_impact required_knowledge instances wording pair patient review".split()
)
"""Columns beyond the official ones that are carried along as strata; of one `pair`, images alone differ."""
DIALS = tuple(
    """
    seen_px shown contrast transmitted distance_cm clutter hidden_share s_since_seen times_seen s_visible
    """.split()
)
"""Columns of numbers that say how hard it is to see, or to remember, what an answer rests on."""

REQUEST_KEYS = frozenset("qID videoID start_time end_time procedure_type question".split())
"""What the official toolkit allows in a request, and demands."""
REFERENCE_KEYS = frozenset(
    ("qID", "primary", "format", "answer", "format_kwargs", "secondaries", "ood", "clinical", *STRATA_COLUMNS, *DIALS)
)
"""What is read of a reference; the official toolkit passes over all others too."""
OFFICIAL_RESPONSE_KEYS = frozenset(("qID", "id", "content", "latency"))
RECORD_KEYS = ("status", "detail", "cost", "tokens", "attempts")
RESPONSE_KEYS = OFFICIAL_RESPONSE_KEYS | set(RECORD_KEYS)
"""What a response may have here: the official keys, and what became of the question."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked, and about which stretch of which video."""

    case: str
    video: str
    start_s: float
    end_s: float
    procedure: str
    question: str

    @property
    def window_s(self) -> float:
        """The length of the stretch."""
        return self.end_s - self.start_s

    def as_row(self) -> dict[str, Any]:
        """The row of an official requests file."""
        return {
            "qID": self.case,
            "videoID": self.video,
            "start_time": self.start_s,
            "end_time": self.end_s,
            "procedure_type": self.procedure,
            "question": self.question,
        }


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference answer to a question and what kind of question it is."""

    case: str
    capability: Capability
    format: str
    answer: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    secondaries: tuple[Capability, ...] = ()
    ood: bool | None = None
    """Whether the question is out of distribution; None when the file does not say."""
    clinical: bool = False
    strata: Mapping[str, str | float] = field(default_factory=dict)
    """What kind of question it is, and its dials."""

    def as_row(self) -> dict[str, Any]:
        """The row of an official references file; strata follow, which the official toolkit passes over."""
        return {
            "qID": self.case,
            "primary": self.capability.value,
            "format": self.format,
            "format_kwargs": dict(self.parameters),
            "answer": self.answer,
            "secondaries": [c.value for c in self.secondaries],
            "ood": bool(self.ood),
            "clinical": self.clinical,
            **self.strata,
        }


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered. No text at all (None) is an unanswered question."""

    case: str
    content: str | None
    latency_s: float = 0.0
    """As the model reported it; NaN when what it reported is not a time."""
    status: Status | None = None
    """What became of the question, where whoever asked it said so; None in official files."""
    detail: str = ""
    """Why there is no answer, in words."""
    cost: float | None = None
    """In the currency of whoever asked."""
    tokens: int | None = None
    attempts: int | None = None

    @property
    def is_excused(self) -> bool:
        """Whether there is no text and the status says why."""
        return self.content is None and self.status not in (None, Status.ANSWERED)

    def as_row(self) -> dict[str, Any]:
        """The row of an official answer file: three keys, since the official toolkit refuses any other."""
        return {"qID": self.case, "content": self.content, "latency": self.latency_s}

    def as_record(self) -> dict[str, Any]:
        """The row with everything that is known, for JSON Lines; what is unknown is left out."""
        known = {key: getattr(self, key) for key in RECORD_KEYS}
        return self.as_row() | {key: value for key, value in known.items() if value not in (None, "")}


Item = TypeVar("Item", Request, Reference, Response)


class ItemColumns(Mapping[str, Item], Generic[Item]):
    """Requests, references or responses by case, kept as one list per field; an object is made when it is asked for.

    Example:
        >>> kept = ItemColumns.of(Response, [Response("q1", "yes"), Response("q2", "no")])
        >>> kept.columns["content"], kept["q2"].content
        (['yes', 'no'], 'no')
    """

    def __init__(self, kind: type[Item]) -> None:
        self.kind: type[Item] = kind
        self.columns: dict[str, list[Any]] = {one.name: [] for one in fields(kind)}
        self.places: dict[str, int] = {}
        """Where each case stands in the columns."""

    @classmethod
    def of(cls, kind: type[Item], items: Iterable[Item]) -> ItemColumns[Item]:
        """The columns of these objects; the first of each case counts."""
        made = cls(kind)
        made.add(columns_of(kind, items))
        return made

    def add(self, columns: Sequence[list[Any]]) -> list[int]:
        """Append rows, given as columns; those whose case is there already are left out, and their numbers returned."""
        cases, start = columns[0], len(self.places)
        firsts = map(self.places.setdefault, cases, range(start, start + len(cases)))
        repeated = [row for row, place in enumerate(firsts) if place != start + row]
        if repeated:
            new = sorted(set(range(len(cases))) - set(repeated))
            columns = [[column[row] for row in new] for column in columns]
            self.places.update(zip(columns[0], range(start, start + len(new)), strict=True))
        for kept, column in zip(self.columns.values(), columns, strict=True):
            kept += column
        return repeated

    def __getitem__(self, case: str) -> Item:
        place = self.places[case]
        item: Item = self.kind(*(column[place] for column in self.columns.values()))
        return item

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, case: object) -> bool:
        return case in self.places


def columns_of(kind: type[Item], items: Iterable[Item]) -> list[list[Any]]:
    """One list per field of these objects."""
    rows = list(items)
    return [[getattr(row, one.name) for row in rows] for one in fields(kind)]
