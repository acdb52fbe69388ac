"""Read `challenge.toml`: checked as a whole, every problem listed, and sealed by a digest."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.host.challenge.challenge import (
    BOARDS,
    COUNTED,
    VISIBILITIES,
    Challenge,
    ChallengePhase,
    Prizes,
    QualificationCriterion,
    RankingRule,
    TeamRules,
)
from surgvalid.host.challenge.entries import Entries
from surgvalid.schema.legacy import same_schema
from surgvalid.stats.ranking import RankOptions, rule_named
from surgvalid.submissions.phase import SubmissionPhase, phase_of

SCHEMA = "surgvalid/challenge/1"
PAGES = ("overview", "rules", "data")
_READ = (".md", ".txt")
_NEVER = datetime.max.replace(tzinfo=UTC)
_RULE, _REQUEST = "focus", "request.json"
_RANKING = ("merge", "test", "alpha", "correction", "replicates", "seed", "missing")


def read_challenge(path: str | Path) -> Challenge:
    """The challenge in a TOML file.

    Raises:
        FileUnreadable: It cannot be read, or is no TOML.
        InputInvalid: With a sentence per problem.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnreadable(str(path), [f"no challenge file that can be read ({error})"]) from None
    return challenge_of(text, folder=Path(path).parent, where=str(path))


def challenge_of(text: str, *, folder: Path, where: str = "challenge.toml") -> Challenge:
    """The challenge that a text describes; files that it names lie in `folder`.

    Raises:
        FileUnreadable: It is no TOML.
        InputInvalid: With a sentence per problem.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileUnreadable(where, [f"it is no TOML ({error})"]) from None
    problems: list[str] = []
    top = Entries("", content, problems)
    if not same_schema(top.text("schema", SCHEMA), SCHEMA):
        problems.append(f"schema is {content['schema']!r}; this version reads {SCHEMA!r}")
    zone = _zone(top)
    baselines = {one.slug("slug"): one.text("title", None) for one in _closed(top.tables("baselines"), "slug", "title")}
    phases = tuple(_phase(one, zone, folder, tuple(baselines)) for one in top.tables("phases"))
    terms, texts = top.table("terms"), top.table("texts")
    held: dict[str, Any] = {
        "name": top.text("name", None),
        "slug": top.slug("slug"),
        "contact": top.text("contact", None),
        "zone": str(zone),
        "phases": phases,
        "ranking": _ranking(top.table("ranking")),
        "teams": _teams(top.table("teams"), zone),
        "baselines": baselines,
        "terms_version": terms.text("version", None),
        "terms": terms.file("file", folder, endings=_READ),
        "texts": {page: texts.file(page, folder, endings=_READ) for page in PAGES},
    }
    for table in (terms, texts, top):
        table.done()
    problems += _contradictions(phases)
    if problems:
        raise InputInvalid(where, [problem.strip() for problem in problems])
    return Challenge(**held, text=text, digest=_digest(text, folder, phases, [held["terms"], *held["texts"].values()]))


def _closed(tables: list[Entries], *names: str) -> Iterator[Entries]:
    for table in tables:
        yield table
        table.known |= set(names)
        table.done()


def _zone(top: Entries) -> ZoneInfo:
    name = top.text("time_zone", "UTC")
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):
        top.wrong("time_zone", "the name of a time zone, as Europe/Berlin")
        return ZoneInfo("UTC")


def _phase(table: Entries, zone: ZoneInfo, folder: Path, baselines: tuple[str, ...]) -> ChallengePhase:
    slug = table.slug("slug")
    table.where = f"phase {slug or '?'}:"
    boards = table.texts("boards", BOARDS)
    if unknown := set(boards) - set(BOARDS):
        table.wrong("boards", f"some of {', '.join(BOARDS)}, not {', '.join(sorted(unknown))}")
    opens, closes = table.instant("opens", zone, needed=True), table.instant("closes", zone, needed=True)
    if opens and closes and closes <= opens:
        table.wrong("closes", "after it opens")
    visibility = table.choice("visibility", tuple(VISIBILITIES), "public")
    title = table.text("title", None)
    phase = ChallengePhase(
        slug=slug,
        title=title,
        opens=opens or _NEVER,
        closes=closes or _NEVER,
        boards=boards,
        visibility=visibility,
        rules=_rules(table, slug, folder, hidden=visibility == "hidden"),
        upload_grace_s=table.number("upload_grace_s", 6 * 3600.0),
        quota=table.whole("quota", 10, least=1),
        attempts=table.whole("attempts", 30, least=1),
        open_at_once=table.whole("open_at_once", 2, least=1),
        public_data=table.yes_no("public_data", False),
        team_gb=table.number("team_gb", 200.0),
        counted=table.choice("counted", tuple(COUNTED), "best"),
        decimals=table.whole("decimals", 3, least=1),
        shards=table.whole("shards", 1, least=1),
        gate=_gate(table, baselines),
        prizes=_prizes(table, boards),
        needs_description=table.yes_no("needs_description", False),
        questions=(questions := table.file("questions", folder, kind="folder")),
        question_count=_count(folder / questions / _REQUEST),
        references=table.text("references"),
        judges=table.texts("judges"),
        gpu_price_per_hour=table.number("gpu_price_per_hour", 0.0),
    )
    if not phase.questions:
        table.wrong("questions", "a folder with request.json and media")
    if not phase.references:
        table.wrong("references", "the file of references, which only scoring workers need to have")
    if phase.public_data and (phase.visibility == "hidden" or phase.rules.hidden):
        table.wrong("public_data", "false where the phase or its questions are hidden")
    if phase.attempts < phase.quota:
        table.wrong("attempts", "at least the quota")
    table.done()
    return phase


def _count(place: Path) -> int:
    """How many questions a phase has; 0 where nobody can read them yet."""
    try:
        return len(json.loads(place.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return 0


def _rules(table: Entries, slug: str, folder: Path, *, hidden: bool) -> SubmissionPhase:
    content = {"name": slug or "phase", "hidden": hidden} | dict(table.plain("submission"))
    try:
        return phase_of(content, where=table.where, folder=folder)
    except InputInvalid as error:
        table.problems += [f"{table.where} [submission] {problem}" for problem in error.problems]
        return SubmissionPhase(name="phase", track="frame")


def _gate(table: Entries, baselines: tuple[str, ...]) -> QualificationCriterion | None:
    if not table.plain("gate"):
        return None
    inside = table.table("gate")
    gate = QualificationCriterion(
        phase=inside.slug("phase"),
        boards=inside.texts("boards", BOARDS),
        baselines=inside.texts("baselines", baselines),
        least_boards=inside.whole("least_boards", 1, least=1),
    )
    if not gate.baselines or set(gate.baselines) - set(baselines):
        inside.wrong("baselines", f"some of [[baselines]] ({', '.join(baselines) or 'there are none'})")
    if not 1 <= gate.least_boards <= len(gate.boards):
        inside.wrong("least_boards", "at most the number of leaderboards")
    inside.done()
    return gate


def _prizes(table: Entries, boards: tuple[str, ...]) -> Prizes | None:
    if not table.plain("prizes"):
        return None
    inside = table.table("prizes")
    pools = {board: inside.number(board, 0.0) for board in boards}
    prizes = Prizes(
        pools=pools,
        currency=inside.text("currency", "USD"),
        needs_description=inside.yes_no("needs_description", True),
        four_eyes=inside.yes_no("four_eyes", False),
    )
    inside.done()
    return prizes


def _ranking(table: Entries) -> RankingRule:
    rule = table.text("rule", _RULE)
    options = {name: table.content[name] for name in _RANKING if name in table.content}
    table.known |= set(_RANKING)
    try:
        rule_named(rule)
        if rule != _RULE:
            raise Misuse(
                f"rule must be {_RULE}, which alone knows leaderboards, baselines, qualification and prizes; for "
                f"the table of {rule} "
                "run `surgvalid rank` on the scores of an export"
            )
        RankOptions(**options)
    except (Misuse, UnknownName, TypeError, ValueError) as error:
        table.problems.append(f"[ranking] {error}")
    table.done()
    return RankingRule(rule=rule, options=options)


def _teams(table: Entries, zone: ZoneInfo) -> TeamRules:
    teams = TeamRules(
        most_members=table.whole("most_members", 10, least=1),
        registration_opens=table.instant("registration_opens", zone),
        registration_closes=table.instant("registration_closes", zone),
        countries_refused=table.texts("countries_refused"),
        coauthors=table.whole("coauthors", 3),
    )
    table.known.add("merges_until")  # of older files: teams become one by leaving and by invitation
    table.done()
    return teams


def _contradictions(phases: tuple[ChallengePhase, ...]) -> Iterator[str]:
    slugs = [phase.slug for phase in phases]
    if not phases:
        yield "there are no phases; write at least one, as [[phases]]"
    for slug in sorted({slug for slug in slugs if slugs.count(slug) > 1}):
        yield f"phase {slug}: there are {slugs.count(slug)} of this slug"
    for phase in phases:
        gate = phase.gate
        if gate is None:
            continue
        if gate.phase == phase.slug or gate.phase not in slugs:
            yield (
                f"phase {phase.slug}: its qualification criterion names the phase {gate.phase!r}, which must be "
                "another one of the file"
            )
            continue
        behind = next(one for one in phases if one.slug == gate.phase)
        if unknown := set(gate.boards) - set(behind.boards):
            yield (
                f"phase {phase.slug}: its qualification criterion names leaderboards that {gate.phase} lacks: "
                f"{', '.join(sorted(unknown))}"
            )


def _digest(text: str, folder: Path, phases: tuple[ChallengePhase, ...], files: list[str]) -> str:
    """Of the file, and of every text and table of questions that it names; media are under the digests of runs."""
    named = sorted({*filter(None, files), *(f"{phase.questions}/{_REQUEST}" for phase in phases)})
    digest = hashlib.sha256(text.encode())
    for name in named:
        place = folder / name
        digest.update(f"\0{name}\0".encode())
        digest.update(hashlib.sha256(place.read_bytes() if place.is_file() else b"").digest())
    return digest.hexdigest()


def changes_between(old: str, new: str) -> list[dict[str, Any]]:
    """Every setting that differs between two challenge files: its name, old and new value."""
    before, after = (_settings(tomllib.loads(text)) for text in (old, new))
    return [
        {"name": name, "old": before.get(name), "new": after.get(name)}
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _settings(content: dict[str, Any]) -> dict[str, Any]:
    """Every value of a file under its whole name, times in UTC as everywhere on the pages."""
    zone = ZoneInfo(content.get("time_zone", "UTC"))

    def in_words(value: Any) -> Any:
        if not isinstance(value, datetime):
            return value if isinstance(value, str | int | float | bool | list) else str(value)
        return f"{(value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

    return {name: in_words(holder[key]) for name, holder, key in leaves(content)}


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every value of a file: its whole name, what holds it, and under which key; tables of a list are named by their
    slug, or counted.
    """
    for key, value in content.items():
        here = f"{name}.{key}" if name else key
        if isinstance(value, Mapping):
            yield from leaves(value, here)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for number, one in enumerate(value, start=1):
                yield from leaves(one, f"{here}.{one.get('slug', number)}")
        else:
            yield here, content, key
