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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse, TableInvalid
from surgvalid.questions.benchmark import Benchmark, table_of, write_part
from surgvalid.questions.blind_guesses import Leak
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.data_card import Placed, QuestionCard, card_again, leaks_among, over_limits
from surgvalid.questions.drafts import Draft
from surgvalid.questions.stages.ceiling import Scorable, human_ceiling
from surgvalid.questions.stages.history import History, Judged, history_in
from surgvalid.questions.template import Proof, QuestionTrack
from surgvalid.results.manifest import MANIFEST, refuse_altered, sha256_of
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result, write_text
from surgvalid.schema.documents import json_text, read_json
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.questions.formats import choices_of, why_no_answer
from surgvalid.schema.rows import read_rows

RELEASE, CHANGES, RETIRED = "release.json", "changes", "retired"
REMOVED, REPLACED, CORRECTED = "removed", "replaced", "corrected"
PROGRAM = "program"
"""By whom, where no person says so."""
_COLUMNS = ("qID", "change", "by", "reason")
_UNREVIEWED = {"review": "unreviewed"}
_CARD, _HISTORY = "data_card", "history.csv"
_BESIDE = ("LICENSE*", "LICENCE*", "CITATION*")
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
    card: QuestionCard
    log: History = field(default_factory=History)
    """The reviews that made it what it is."""

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
        (folder / f"{_CARD}.md").write_text(self.card.as_markdown(), encoding="utf-8")
        if self.log.entries:
            self.log.table().write_csv(folder / _HISTORY)
        hidden: dict[str, str] = {}
        for name, share in self.parts.items():
            place = folder / name
            write_part(place, *share)
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
        history: The history of their review, a table or its file; by default that in the folder.
        confirmed: So many people must have approved a question for it to stay.
        replacements: Questions of the same annotations; for every one that goes, at most one of the same template,
            track and split comes in, marked as unreviewed.
        public: Leave references, proofs, the history and the reasons of corrections out; hashes of files stay.

    Raises:
        FileUnreadable: The folder holds no questions, or none with references.
            Or a frozen file was edited.
        TableInvalid: A correction that is no answer of its question.
        Misuse: Nothing would be left, or the number of people is negative.
    """
    folder = Path(keep)
    history = folder / _HISTORY if history is None and (folder / _HISTORY).is_file() else history
    log = history_in(history)
    if confirmed < 0:
        raise Misuse(f"confirmed (--min confirmed) must be at least 0, got {confirmed}")
    before, parts = parts_in(folder), dict[str, QuestionRows]()
    reviews = log.reviews()
    if wrong := list(_illegal(before, reviews)):
        raise TableInvalid("history", wrong)
    earlier = read_json(folder / RELEASE) if (folder / RELEASE).is_file() else {}
    if earlier:
        refuse_altered(folder, folder.glob("*/*/*"))
    retired = pl.read_csv(folder / "retired.csv", infer_schema=False) if (folder / "retired.csv").is_file() else None
    version, changes = int(earlier.get("version", 0)) + 1, list[tuple[str, str, str, str]]()
    used = {row["qID"] for share in before.values() for row in share.requests}
    used |= set() if retired is None else set(retired["qID"])
    strange = [item for item in reviews if item not in used]
    fresh = _fresh(replacements, used)
    for name, share in before.items():
        right = {row["qID"]: str(row["answer"]) for row in share.references}
        becomes = {case: _verdict(reviews.get(case), answer, confirmed) for case, answer in right.items()}
        gone = {case for case, (change, *_) in becomes.items() if change == REMOVED}
        lost = [fresh[name, proof["template"]] for proof in share.proofs if proof["qID"] in gone]
        new = [waiting.pop(0) for waiting in lost if waiting]
        changes += [(row["qID"], *becomes[row["qID"]]) for row in share.requests if becomes[row["qID"]][0]]
        changes += [(question.request.case, REPLACED, PROGRAM, "not yet reviewed") for question in new]
        corrected = {case: _right(reviews, case) or answer for case, answer in right.items()}
        parts[name] = _left(share, gone, corrected, new)
    left = {name: share for name, share in parts.items() if share.requests}
    people, remarks = human_ceiling(asked_in(left), log)
    if not left:
        raise Misuse(f"{folder}: no question is left; ask fewer people to confirm, or give the history of the review")
    table = pl.DataFrame(changes, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")
    now = table.filter(pl.col("change") == REMOVED).drop("change").with_columns(version=pl.lit(str(version)))
    overall = {"people": people.row(0, named=True)} if people.height else {}
    made_of = read_json(folder / f"{_CARD}.json") if (folder / f"{_CARD}.json").is_file() else {}
    title = _title(version, table, sum(len(share.requests) for share in before.values()), confirmed, people)
    types = {row["videoID"]: str(row["procedure_type"]) for share in left.values() for row in share.requests}
    patients = {row["video"]: row.get("patient") or row["video"] for row in made_of.get("videos", ())}
    placed, blind_share = list(_drafts_in(left)), made_of.get("options", {}).get("blind_share", 0.25)
    leaks = leaks_among(placed, types, patients, blind_share)
    card = card_again(made_of, placed, types, leaks, title)
    if public:  # the most frequent answer of a template tells those of its questions
        card = replace(card, templates=card.templates.drop("top_answer"))
        table = table.with_columns(reason=pl.when(pl.col("change") == CORRECTED).then(None).otherwise("reason"))
    release = {"version": version, "questions": sum(len(share.requests) for share in left.values())}
    parent = {"parent": {"version": earlier.get("version"), "digest": earlier.get("digest") or digest_of(folder)}}
    return Release(
        tables={
            **({"ceiling": people} if people.height else {}),
            CHANGES: table,
            RETIRED: now if retired is None else pl.concat([retired, now]),
        },
        main=CHANGES,
        records={_CARD: card.as_dict()},
        findings=(*_strange(strange, len(reviews)), *_no_longer_kept(left, leaks), *remarks),
        parts=left,
        facts_of={**release, **parent, "confirmed_by_at_least": confirmed, **overall},
        parent=folder,
        public=public,
        card=card,
        log=History() if public else log,
        request=VerbRequest(inputs={"history": [Path(history)]} if isinstance(history, str | Path) else {}),
    )


def _title(version: int, changes: pl.DataFrame, before: int, confirmed: int, people: pl.DataFrame) -> str:
    """What the card says of the version before its numbers."""
    counted = dict(changes["change"].value_counts().rows())
    listed = ", ".join(f"{counted.get(change, 0)} {change}" for change in (REMOVED, REPLACED, CORRECTED))
    lines = [f"Version {version}, made of {before} questions: {listed} (`changes.csv`)."]
    if confirmed:
        lines.append(f"At least {confirmed} people confirmed each question.")
    if people.height:
        row = people.row(0, named=True)
        known = "" if row["low"] is None else f" (95 % interval {row['low']:.3f} to {row['high']:.3f})"
        lines.append(
            f"{row['raters']} people who had not seen the references answered {row['accuracy']:.3f} of "
            f"{row['questions']} closed questions rightly{known}, not counting what was removed (`ceiling.csv`)."
        )
    return " ".join(lines)


def _drafts_in(parts: Mapping[str, QuestionRows]) -> Iterator[Placed]:
    """The questions as drafts again, without what they rest on."""
    for name, share in parts.items():
        split, track = name.split("/")
        for request, reference, proof in zip(share.requests, share.references, share.proofs, strict=True):
            window = Window(int(request["start_time"]), int(request["end_time"]))
            asked = template_named(proof["template"]), QuestionTrack(track), str(request["videoID"]), window
            phase, facts = reference.get("phase"), proof.get("facts", {})
            answer = str(reference["answer"])
            draft = Draft(*asked, proof["slots"], str(request["question"]), answer, Proof(), facts, phase)
            yield Placed(draft, split, bool(reference["ood"]))


def _illegal(parts: Mapping[str, QuestionRows], reviews: Mapping[str, Judged]) -> Iterator[str]:
    """Corrections that nobody could answer."""
    for share in parts.values():
        for row, proof in zip(share.references, share.proofs, strict=True):
            if right := _right(reviews, row["qID"]):
                choices = choices_of(row["format"], proof.get("slots"))
                why = why_no_answer(row["format"], row.get("format_kwargs"), choices, right)
                yield from [f"{row['qID']}: {why}; correct it anew, or withdraw the question"] if why else []


def _right(reviews: Mapping[str, Judged], case: str) -> str | None:
    return reviews[case].right if case in reviews else None


def asked_in(parts: Mapping[str, QuestionRows]) -> Iterator[Scorable]:
    """The questions, as people's answers to them are scored."""
    for name, share in parts.items():
        where = dict(zip(("split", "track"), name.split("/"), strict=True))
        for request, row, proof in zip(share.requests, share.references, share.proofs, strict=True):
            kinds = {**where, "template": proof["template"], "capability": row["primary"]}
            patient = row.get("patient") or request["videoID"]
            yield Scorable(row["qID"], patient, row["format"], row.get("format_kwargs"), str(row["answer"]), kinds)


def _strange(items: Sequence[str], count: int) -> Iterator[Finding]:
    if items:
        text = f"{len(items)} of {count} items of the history are no questions of this set (first: {items[0]})"
        yield Finding("release-history", Severity.WARNING, f"{text}; what was said of them is left aside")


def _verdict(judged: Judged | None, answer: str, confirmed: int) -> tuple[str, str, str]:
    """What becomes of a question ('' for nothing), who says so, and why."""
    if judged and judged.against:
        notes = (entry.note or f"right is {entry.after}" for entry in judged.against.values())
        return REMOVED, ", ".join(judged.against), "; ".join(dict.fromkeys(notes))
    for_it = judged.approved | ({judged.changed.who} if judged.changed else set()) if judged else set()
    if len(for_it) < confirmed:
        people = f" ({', '.join(sorted(for_it))})" if for_it else ""
        return REMOVED, PROGRAM, f"confirmed by {len(for_it)} of {confirmed} people{people}"
    if judged and judged.changed and (right := judged.right) and right != answer:
        last = judged.changed
        return CORRECTED, last.who, f"{last.before} was wrong, {right} is right. {last.note}".strip()
    return "", "", ""


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
        references + [{**row, **_UNREVIEWED} for row in more],
        kept(share.proofs) + [question.proof_row() for question in new],
        pl.concat([table, *added], how="diagonal"),
    )


def _no_longer_kept(parts: Mapping[str, QuestionRows], leaks: Sequence[Leak]) -> Iterator[Finding]:
    """What one answer has taken over, or can be guessed too often; nothing is balanced again, it is only said."""
    for name, share in parts.items():
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        templates = {row["qID"]: row["template"] for row in share.proofs}
        for row in share.references:
            answers[templates[row["qID"]]][row["answer"]] += 1
        for template, counted in answers.items():
            answer, most = counted.most_common(1)[0]
            if most > (counted.total() + 1) // 2:
                text = f"{name}/{template}: {answer!r} is now right {most} of {counted.total()} times"
                yield Finding("release-balance", Severity.WARNING, text)
    yield from (Finding("release-leak", Severity.WARNING, text) for text in over_limits(leaks))


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
