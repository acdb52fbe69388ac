"""A finished set of questions: its rows, its files, and the checks it has to pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, overload

import polars as pl

from surgvalid.questions.data_card import Placed, QuestionCard
from surgvalid.questions.draft_store import AnyDraft
from surgvalid.questions.template import clock
from surgvalid.results.result import Result
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.formats import time_tolerance_s
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS, Reference, Request
from surgvalid.schema.rows import write_json_rows

AT_ONCE = 4096
"""Rows that are put into a table at a time."""
GENERATION = "automatic"
"""How the official data sets call questions that were made from annotations by a program."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its reference, its proof and where it belongs."""

    request: Request
    reference: Reference
    split: str
    draft: AnyDraft

    @property
    def track(self) -> str:
        """The track it is asked in."""
        return self.draft.track.value

    def proof_row(self) -> dict[str, Any]:
        """What the reference rests on and what makes the question hard."""
        return {
            "qID": self.request.case,
            "template": self.draft.template.name,
            "slots": dict(self.draft.slots),
            "proof": self.draft.proof.as_dict(),
            "facts": self.draft.facts,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Questions(Sequence[Question]):
    """Questions in order. Each is put into words when it is looked at: only what was chosen is held."""

    placed: Sequence[Placed]
    worded: Callable[[Placed], Question]

    def __len__(self) -> int:
        return len(self.placed)

    @overload
    def __getitem__(self, at: int) -> Question: ...
    @overload
    def __getitem__(self, at: slice) -> Questions: ...
    def __getitem__(self, at: int | slice) -> Question | Questions:
        return Questions(self.placed[at], self.worded) if isinstance(at, slice) else self.worded(self.placed[at])

    def __iter__(self) -> Iterator[Question]:
        return map(self.worded, self.placed)

    def of(self, split: str, track: str) -> Questions:
        """Those of a split and track."""
        placed = [item for item in self.placed if item.split == split and item.draft.track.value == track]
        return Questions(placed, self.worded)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Benchmark(Result):
    """Questions with references, split by patient, and the card that describes them."""

    questions: Questions
    card: QuestionCard

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {"data_card": self.card.as_dict()})
        object.__setattr__(self, "findings", tuple(Finding("defect", Severity.NOTE, d) for d in self.card.defects))

    @property
    def table(self) -> pl.DataFrame:
        """All questions in the fourteen columns of the public data sets, with their split."""
        return table_of(self.questions).with_columns(
            split=pl.Series([item.split for item in self.questions.placed], dtype=pl.String)
        )

    @property
    def requests(self) -> list[Request]:
        """What is asked."""
        return [question.request for question in self.questions]

    @property
    def references(self) -> list[Reference]:
        """What is right."""
        return [question.reference for question in self.questions]

    def parts(self) -> Iterator[tuple[str, str, Questions]]:
        """The questions by split and track."""
        for split in dict.fromkeys(item.split for item in self.questions.placed):
            for track in dict.fromkeys(item.draft.track.value for item in self.questions.placed):
                if asked := self.questions.of(split, track):
                    yield split, track, asked

    @property
    def title(self) -> str:
        """How many questions there are of which split and track."""
        parts = ", ".join(f"{len(asked)} {split} {track}" for split, track, asked in self.parts())
        return f"Benchmark({len(self.questions)} questions: {parts})"

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """Questions by split and track, and what input-blind systems reach."""
        counted = self.card.counts.group_by("split", "track", maintain_order=True).agg(pl.col("questions").sum())
        floors = pl.DataFrame({"floor": list(self.card.floors), "accuracy": list(self.card.floors.values())})
        return {
            f"{len(self.questions)} questions from {self.card.videos.height} videos": counted,
            "What input-blind systems reach": floors,
        }

    def as_dict(self) -> dict[str, Any]:
        """The data card."""
        return self.card.as_dict()

    def write(self, folder: Path) -> None:
        """Write `SPLIT/TRACK/` with requests, references, the data-set table and proofs, and the data card."""
        super().write(folder)
        for split, track, asked in self.parts():
            place = folder / split / track
            place.mkdir(parents=True, exist_ok=True)
            write_json_rows((q.request.as_row() for q in asked), place / "requests.json")
            write_json_rows((q.reference.as_row() for q in asked), place / "references.json")
            table_of(asked).write_parquet(place / "questions.parquet")
            write_lines((q.proof_row() for q in asked), place / "proofs.jsonl")
        (folder / "data_card.md").write_text(self.card.as_markdown(), encoding="utf-8")


def table_of(questions: Iterable[Any], generation: str = GENERATION) -> pl.DataFrame:
    """Questions, of a program or of people, in the fourteen columns of the public data sets.

    Where the format of any has to know something that these do not tell (the pattern of a `matching` question, the
    names of classes of one's own), a fifteenth column `format_kwargs` holds it.
    """
    kinds: dict[str, Any] = dict.fromkeys((*DATA_SET_COLUMNS, "format_kwargs"), pl.String)
    kinds |= {"clinical_relevance": pl.Boolean, "ood": pl.Boolean, "secondary_capabilities": pl.List(pl.String)}
    rows = (_data_set_row(one.request, one.reference, str(one.track), generation) for one in questions)
    pieces = (pl.DataFrame(some, schema=kinds, orient="row") for some in iter(lambda: list(islice(rows, AT_ONCE)), []))
    table = pl.concat([pl.DataFrame(schema=kinds), *pieces], rechunk=True)
    return table if table["format_kwargs"].null_count() < table.height else table.drop("format_kwargs")


def _data_set_row(request: Request, reference: Reference, track: str, generation: str) -> tuple[Any, ...]:
    usual = {"threshold_seconds": time_tolerance_s(request.window_s)} if reference.format == "time" else {}
    more = {key: value for key, value in reference.parameters.items() if usual.get(key) != value}
    return (
        request.case,
        request.video,
        request.procedure,
        request.question,
        reference.answer,
        reference.format,
        track,
        generation,
        reference.clinical,
        bool(reference.ood),
        clock(int(request.start_s)),
        clock(int(request.end_s)),
        reference.capability.code,
        [c.code for c in reference.secondaries],
        json.dumps(more) if more else None,
    )


def write_lines(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as JSON, one a line."""
    with open(path, "w", encoding="utf-8") as handle:
        for row in rows:
            handle.write(json_text(row) + "\n")
