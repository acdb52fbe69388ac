"""Frozen releases of a set of questions: what stands in one stays, byte for byte and in its order.

A release is a folder of questions with `release.json` (version, digest over all files, the digest of its parent) and
`changes.csv` (what is no longer asked, corrected or new, by whom and why); `retired.csv` tells the same of all versions
before, and no identifier that was retired is used again. Only people change a release: objections and withdrawals in
the history of reviews take questions out, a decided correction changes a reference, and a stated number of people may
be needed for a question to stay. Nothing is balanced again: what a release then no longer keeps is said in a finding.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.questions.benchmark import Benchmark, table_of, write_lines
from surgvalid.questions.stages.ceiling import human_ceiling
from surgvalid.questions.stages.history import Action, History, ReviewState, history_in, standing
from surgvalid.results.manifest import MANIFEST, sha256_of
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result, write_text
from surgvalid.schema.documents import json_text, read_json
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.rows import read_rows, write_json_rows

RELEASE, CHANGES, RETIRED = "release.json", "changes", "retired"
REMOVED, REPLACED, CORRECTED = "removed", "replaced", "corrected"
_COLUMNS = ("qID", "change", "by", "reason")
_UNREVIEWED = {"review": "unreviewed"}
_BESIDE = ("LICENSE*", "LICENCE*", "CITATION*", "data_card.*", "history.csv")
"""What goes along as it is."""
Row = Mapping[str, Any]


class QuestionRows(NamedTuple):
    """The questions of one split and track, row by row as they lie in the files."""

    requests: list[dict[str, Any]]
    references: list[dict[str, Any]]
    proofs: list[dict[str, Any]]
    table: pl.DataFrame


def parts_in(folder: Path) -> dict[str, QuestionRows]:
    """By `SPLIT/TRACK`, the questions of a folder.

    Raises:
        FileUnreadable: It holds none, or their references were left out.
    """
    places = sorted(path.parent for path in folder.glob("*/*/requests.json"))
    if not places:
        raise FileUnreadable(str(folder), ["holds no questions (SPLIT/TRACK/requests.json); name the folder of a set"])
    if lacking := [str(place) for place in places if not (place / "references.json").is_file()]:
        raise FileUnreadable(lacking[0], ["holds no references: it was released without them; name the full release"])
    return {
        place.relative_to(folder).as_posix(): QuestionRows(
            read_json(place / "requests.json"),
            read_json(place / "references.json"),
            list(read_rows(place / "proofs.jsonl")),
            pl.read_parquet(place / "questions.parquet"),
        )
        for place in places
    }


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Release(Result):
    """One version of a set of questions."""

    parts: Mapping[str, QuestionRows] = field(default_factory=dict)
    facts_of: Mapping[str, Any] = field(default_factory=dict)
    """What `release.json` says beside the digests."""
    parent: Path | None = None
    public: bool = False
    """Whether references and proofs are left out."""

    @property
    def title(self) -> str:
        """How many questions which version holds."""
        kept = sum(len(share.requests) for share in self.parts.values())
        return f"Release(version {self.facts_of['version']}: {kept} questions, {self.table.height} changes)"

    def write(self, folder: Path) -> None:
        """Write the questions, what lies beside them, and the digests."""
        super().write(folder)
        for pattern in _BESIDE if self.parent else ():
            for path in sorted((self.parent or folder).glob(pattern)):
                shutil.copyfile(path, folder / path.name)
        hidden: dict[str, str] = {}
        for name, share in self.parts.items():
            place = folder / name
            place.mkdir(parents=True)
            write_json_rows(share.requests, place / "requests.json")
            write_json_rows(share.references, place / "references.json")
            write_lines(share.proofs, place / "proofs.jsonl")
            share.table.write_parquet(place / "questions.parquet")
            for path in (place / "references.json", place / "proofs.jsonl", place / "questions.parquet"):
                if self.public:
                    hidden[path.relative_to(folder).as_posix()] = sha256_of(path)
                    path.unlink()
        left_out = {"left_out": hidden} if hidden else {}
        write_text(folder / RELEASE, json_text({**self.facts_of, "digest": digest_of(folder), **left_out}, indent=2))


def digest_of(folder: Path) -> str:
    """One hash over every file of a release, but for the two that are written after it."""
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in (RELEASE, MANIFEST) and "annotations" not in path.parts:
            content.update(f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n".encode())
    return content.hexdigest()


@requested("questions", files=("keep", "history"))
def freeze(
    keep: str | Path,
    *,
    history: Any = None,
    confirmed: int = 0,
    replacements: Benchmark | None = None,
    public: bool = False,
) -> Release:
    """The next version of a set of questions.

    Args:
        keep: The folder of the version before, or of questions that were never released.
        history: The history of their review, a table or its file.
        confirmed: So many people must have approved a question for it to stay.
        replacements: Questions of the same annotations; for every one that goes, at most one of the same template,
            track and split comes in, marked as unreviewed.
        public: Leave references and proofs out; their hashes stay.

    Raises:
        FileUnreadable: The folder holds no questions, or none with references.
        Misuse: Nothing would be left, or the number of people is negative.
    """
    folder, log = Path(keep), history_in(history)
    if confirmed < 0:
        raise Misuse(f"confirmed (--min confirmed) must be at least 0, got {confirmed}")
    before, parts = parts_in(folder), dict[str, QuestionRows]()
    verdicts = _verdicts(log, confirmed)
    earlier = read_json(folder / RELEASE) if (folder / RELEASE).is_file() else {}
    retired = pl.read_csv(folder / "retired.csv", infer_schema=False) if (folder / "retired.csv").is_file() else None
    version, changes = int(earlier.get("version", 0)) + 1, list[tuple[str, str, str, str]]()
    used = {row["qID"] for share in before.values() for row in share.requests}
    used |= set() if retired is None else set(retired["qID"])
    fresh = _fresh(replacements, used)
    for name, share in before.items():
        right = {row["qID"]: str(row["answer"]) for row in share.references}
        becomes = {case: verdicts(case, answer) for case, answer in right.items()}
        gone = {case for case, (change, *_) in becomes.items() if change == REMOVED}
        lost = [fresh[name, proof["template"]] for proof in share.proofs if proof["qID"] in gone]
        new = [waiting.pop(0) for waiting in lost if waiting]
        changes += [(row["qID"], *becomes[row["qID"]]) for row in share.requests if becomes[row["qID"]][0]]
        changes += [(question.request.case, REPLACED, "program", "not yet reviewed") for question in new]
        corrected = {case: _correction(log, case) or right[case] for case in right}
        parts[name] = _left(share, gone, corrected, new)
    left = {name: share for name, share in parts.items() if share.requests}
    people, remarks = human_ceiling(left, log)
    if not left:
        raise Misuse(f"{folder}: no question is left; ask fewer people to confirm, or give the history of the review")
    table = pl.DataFrame(changes, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")
    now = table.filter(pl.col("change") == REMOVED).drop("change").with_columns(version=pl.lit(str(version)))
    overall = {"people": people.row(0, named=True)} if people.height else {}
    release = {"version": version, "questions": sum(len(share.requests) for share in left.values())}
    parent = {"parent": {"version": earlier.get("version"), "digest": earlier.get("digest") or digest_of(folder)}}
    return Release(
        tables={
            **({"ceiling": people} if people.height else {}),
            CHANGES: table,
            RETIRED: now if retired is None else pl.concat([retired, now]),
        },
        main=CHANGES,
        records={},
        findings=(*_no_longer_kept(left), *remarks),
        parts=left,
        facts_of={**release, **parent, "confirmed_by_at_least": confirmed, **overall},
        parent=folder,
        public=public,
        request=VerbRequest(inputs={"history": [Path(history)]} if isinstance(history, str | Path) else {}),
    )


def _verdicts(log: History, confirmed: int) -> Callable[[str, str], tuple[str, str, str]]:
    """By question: what becomes of it ('' for nothing), who says so, and why."""
    states, entries = log.states(), defaultdict[str, list[Any]](list)
    for entry in log.entries:
        entries[entry.item].append(entry)

    def verdict(case: str, answer: str) -> tuple[str, str, str]:
        listed = standing(entries.get(case, ()))
        state = states.get(case)
        if state in (ReviewState.DISPUTED, ReviewState.WITHDRAWN):
            against = [e for e in listed if e.action in (Action.OBJECTED, Action.WITHDRAWN)]
            people = ", ".join(dict.fromkeys(entry.who for entry in against))
            return REMOVED, people, "; ".join(entry.note or f"right is {entry.after}" for entry in against)
        for_it = {e.who for e in listed if e.action in (Action.APPROVED, Action.UPHELD, Action.CHANGED)}
        if len(for_it) < confirmed:
            return REMOVED, ", ".join(sorted(for_it)), f"confirmed by {len(for_it)} of {confirmed} people"
        changed = [entry for entry in listed if entry.action is Action.CHANGED and entry.field == "answer"]
        if changed and changed[-1].after != answer:
            last = changed[-1]
            return CORRECTED, last.who, f"{last.before} was wrong, {last.after} is right. {last.note}".strip()
        return "", "", ""

    return verdict


def _correction(log: History, case: str) -> str | None:
    changed = [e for e in log.of(case) if e.action is Action.CHANGED and e.field == "answer"]
    return changed[-1].after if changed else None


def _fresh(replacements: Benchmark | None, used: set[str]) -> dict[tuple[str, str], list[Any]]:
    """Questions that nobody has had yet, by `SPLIT/TRACK` and template."""
    fresh: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for question in replacements.questions if replacements else ():
        if question.request.case not in used:
            fresh[f"{question.split}/{question.track}", question.draft.template.name].append(question)
    return fresh


def _left(share: QuestionRows, gone: set[str], corrected: Mapping[str, str], new: Sequence[Any]) -> QuestionRows:
    def kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if row["qID"] not in gone]

    references = [{**row, "answer": corrected[row["qID"]]} for row in kept(share.references)]
    more = [question.reference.as_row() for question in new]
    right = {row["qID"]: row["answer"] for row in references}
    table = share.table.filter(~pl.col("id").is_in(list(gone)))
    table = table.with_columns(pl.col("id").replace_strict(right, default=None).alias("answer"))
    added = [table_of(new)] if new else []
    return QuestionRows(
        kept(share.requests) + [question.request.as_row() for question in new],
        references + [{**row, "strata": {**row.get("strata", {}), **_UNREVIEWED}} for row in more],
        kept(share.proofs) + [question.proof_row() for question in new],
        pl.concat([table, *added], how="diagonal"),
    )


def _no_longer_kept(parts: Mapping[str, QuestionRows]) -> Iterator[Finding]:
    """Templates that one answer has taken over; nothing is balanced again, it is only said."""
    for name, share in parts.items():
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        templates = {row["qID"]: row["template"] for row in share.proofs}
        for row in share.references:
            answers[templates[row["qID"]]][row["answer"]] += 1
        for template, counted in answers.items():
            answer, most = counted.most_common(1)[0]
            if most > max(1, counted.total() / 2):
                text = f"{name}/{template}: {answer!r} is now right {most} of {counted.total()} times"
                yield Finding("release-balance", Severity.WARNING, text)


def release_changes(before: str | Path, after: str | Path) -> pl.DataFrame:
    """What differs between the questions of two folders: qID, change, by, reason, as in `changes.csv`."""
    old, new = (_asked(Path(folder)) for folder in (before, after))
    path = Path(after) / f"{CHANGES}.csv"
    noted = pl.read_csv(path, infer_schema=False).to_dicts() if path.is_file() else []
    why = {row["qID"]: (row["by"], row["reason"]) for row in noted}
    rows = [(case, REMOVED) for case in old if case not in new]
    rows += [(case, CORRECTED) for case in old if case in new and old[case] != new[case]]
    rows += [(case, REPLACED) for case in new if case not in old]
    listed = [(case, change, *why.get(case, ("", ""))) for case, change in rows]
    return pl.DataFrame(listed, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")


def _asked(folder: Path) -> dict[str, tuple[Row, Row]]:
    pairs = (pair for share in parts_in(folder).values() for pair in zip(share.requests, share.references, strict=True))
    return {request["qID"]: (request, reference) for request, reference in pairs}
