"""A finished set of questions: its rows, its files, and the checks it has to pass."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.questions.data_card import QuestionCard
from surgvalid.questions.drafts import Draft
from surgvalid.questions.template import clock
from surgvalid.results.result import Result
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.formats import time_tolerance_s
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS, Reference, Request
from surgvalid.schema.rows import write_json_rows

GENERATION = "automatic"
"""How the official data sets call questions that were made from annotations by a program."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its reference, its proof and where it belongs."""

    request: Request
    reference: Reference
    split: str
    draft: Draft

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


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Benchmark(Result):
    """Questions with references, split by patient, and the card that describes them."""

    questions: Sequence[Question]
    card: QuestionCard

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {"data_card": self.card.as_dict()})
        object.__setattr__(self, "findings", tuple(Finding("defect", Severity.NOTE, d) for d in self.card.defects))

    @property
    def table(self) -> pl.DataFrame:
        """All questions in the fourteen columns of the public data sets, with their split."""
        return table_of(self.questions).with_columns(
            split=pl.Series([question.split for question in self.questions], dtype=pl.String)
        )

    @property
    def requests(self) -> list[Request]:
        """What is asked."""
        return [question.request for question in self.questions]

    @property
    def references(self) -> list[Reference]:
        """What is right."""
        return [question.reference for question in self.questions]

    def parts(self) -> Iterator[tuple[str, str, list[Question]]]:
        """The questions by split and track."""
        groups: dict[tuple[str, str], list[Question]] = defaultdict(list)
        for question in self.questions:
            groups[question.split, question.track].append(question)
        yield from ((*where, asked) for where, asked in groups.items())

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
            requests, references = [q.request.as_row() for q in asked], [q.reference.as_row() for q in asked]
            write_part(folder / split / track, requests, references, [q.proof_row() for q in asked], table_of(asked))
        (folder / "data_card.md").write_text(self.card.as_markdown(), encoding="utf-8")


def table_of(questions: Iterable[Any], generation: str = GENERATION) -> pl.DataFrame:
    """Questions, of a program or of people, in the fourteen columns of the public data sets.

    Where the format of any has to know something that these do not tell (the pattern of a `matching` question, the
    names of classes of one's own), a fifteenth column `format_kwargs` holds it.
    """
    kinds: dict[str, Any] = dict.fromkeys((*DATA_SET_COLUMNS, "format_kwargs"), pl.String)
    kinds |= {"clinical_relevance": pl.Boolean, "ood": pl.Boolean, "secondary_capabilities": pl.List(pl.String)}
    rows = [_data_set_row(one.request, one.reference, str(one.track), generation) for one in questions]
    table = pl.DataFrame(rows, schema=kinds, orient="row")
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


Rows = Iterable[dict[str, Any]]


def write_part(place: Path, requests: Rows, references: Rows, proofs: Rows, table: pl.DataFrame) -> None:
    """Write the files of one split and track."""
    place.mkdir(parents=True, exist_ok=True)
    write_json_rows(requests, place / "requests.json")
    write_json_rows(references, place / "references.json")
    table.write_parquet(place / "questions.parquet")
    (place / "proofs.jsonl").write_text("".join(json_text(row) + "\n" for row in proofs), encoding="utf-8")
