"""Checklists of reporting guidelines, and the design document of a challenge, filled as far as results and files go.

Every answer names the file that it is from; whatever no file answers says who has to write it. Nothing is invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid import __version__
from surgvalid.audit.evidence import CheckOutcome
from surgvalid.audit.guideline import Guideline, GuidelineItem, guidelines
from surgvalid.bridges.measured import measured, slug, write_texts
from surgvalid.bridges.osf import answers
from surgvalid.errors import UnknownName
from surgvalid.schema.documents import read_text, read_toml
from surgvalid.stats.ranking import RankOptions, rule_named
from surgvalid.studies.preregistration import RegistrationResult
from surgvalid.studies.study import StudyResult
from surgvalid.studies.study_audit import StudyAudit

GUIDELINES = ("TRIPOD+AI", "CLAIM", "STARD-AI", "DECIDE-AI", "BIAS")
_AFTERWARDS = ("Results", "Discussion")
"""Sections that a design has not yet."""
_RANKING = ("merge", "alpha", "seed")
"""Options of a ranking whose defaults are told where the challenge does not set them."""


class SourcedFact(NamedTuple):
    """Something known, and the file that says it."""

    text: str
    source: str


Finder = Callable[[str], Sequence[SourcedFact] | None]


def write(
    folder: str | Path,
    *,
    names: Sequence[str] = GUIDELINES,
    study: StudyResult | None = None,
    audit: StudyAudit | None = None,
    registration: RegistrationResult | None = None,
    challenge: str | Path | None = None,
    force: bool = False,
) -> list[Path]:
    """Write `checklists.csv` and a Markdown file for each guideline; gives the files.

    Args:
        folder: Where they go.
        names: Guidelines, of `GUIDELINES`.
        study: What `surgvalid.study` gave.
        audit: What `surgvalid.audit_study` gave.
        registration: What `surgvalid.preregister` gave.
        challenge: A challenge file.
        force: Whether files there may be replaced.

    Raises:
        UnknownName: A guideline that is not known.
        FileUnreadable: The challenge is no TOML file.
        WouldOverwrite: A file is there.
    """
    finders = _finders(study, audit, registration, challenge)
    texts: dict[str, str] = {}
    rows: list[dict[str, str | None]] = []
    for name in names:
        if name not in GUIDELINES:
            raise UnknownName("guideline", name, GUIDELINES)
        filled = [_row(guidelines()[name], item, finders) for item in guidelines()[name].items]
        texts[f"{slug(name)}.md"] = _markdown(guidelines()[name], filled)
        rows += filled
    texts["checklists.csv"] = pl.DataFrame(rows).write_csv()
    return write_texts(texts, folder, force=force)


def design(challenge: str | Path) -> str:
    """The design document of a challenge as Markdown: the structured description of BIAS, from the challenge file.

    Raises:
        FileUnreadable: It is no TOML file.
        UnknownName: Its ranking rule does not exist.
    """
    bias, finders = guidelines()["BIAS"], _finders(challenge=challenge)
    return _markdown(bias, [_row(bias, item, finders) for item in bias.items if item.section not in _AFTERWARDS])


def _row(guideline: Guideline, item: GuidelineItem, finders: Mapping[str, Finder]) -> dict[str, str | None]:
    """An item with its answer and where that is from, or with who has to answer it."""
    asked = (name.partition(".") for name in item.facts)
    known = list(
        dict.fromkeys(fact for room, _, name in asked if room in finders for fact in finders[room](name) or ())
    )
    return {
        "guideline": guideline.name,
        "section": item.section,
        "item": item.number,
        "subject": item.subject,
        "answer": " ".join(fact.text for fact in known) or None,
        "source": "; ".join(dict.fromkeys(fact.source for fact in known)) or None,
        "to_be_written_by": None if known else guideline.who,
    }


def _markdown(guideline: Guideline, rows: Iterable[Mapping[str, str | None]]) -> str:
    about = (
        f"Items of {guideline.source}, in the words of surgvalid. Answers are what files say, and in brackets which;"
    )
    lines = [f"# {guideline.name}", "", f"{about} whether they are enough is for {guideline.who} to say."]
    section: str | None = None
    for row in rows:
        if row["section"] != section:
            section = row["section"]
            lines += ["", f"## {section}"]
        answer = f"{row['answer']} [{row['source']}]" if row["answer"] else f"*To be written by {guideline.who}.*"
        lines += ["", f"**{row['item']}**, {row['subject']}: {answer}"]
    return "\n".join(lines) + "\n"


def _finders(
    study: StudyResult | None = None,
    audit: StudyAudit | None = None,
    registration: RegistrationResult | None = None,
    challenge: str | Path | None = None,
) -> dict[str, Finder]:
    """What tells the facts of a name, by the kind of source."""
    facts: dict[str, dict[str, list[SourcedFact]]] = {}
    if study is not None:
        facts["study"] = _of_study(study)
    if audit is not None:
        facts["audit"] = _of_audit(audit)
    if registration is not None:
        facts["registration"] = {
            key: [SourcedFact(text, f"registration.json: {at}")] for key, (text, at) in answers(registration).items()
        }
    finders: dict[str, Finder] = {room: some.get for room, some in facts.items()}
    return finders if challenge is None else finders | {"challenge": _of_challenge(Path(challenge))}


def _of_study(study: StudyResult) -> dict[str, list[SourcedFact]]:
    models, unit = measured(study), study.unit
    pairs, strata, hard = (study.tables.get(name, pl.DataFrame()) for name in ("pairs", "strata", "hard_cases"))
    first, named = study.table.row(0, named=True), {one.model for one in models}
    facts = {
        "verdict": ("study.html", study.verdict[:1]),
        "limits": ("study.html", study.verdict[1:]),
        "metric": ("values.csv", [f"{study.metric.name}; {study.metric.better} is better."]),
        "unit": ("values.csv", [f"A case belongs to a {unit}; {unit}s are independent."]),
        "counts": ("values.csv", [f"{first['cases']:,} cases of {first['videos']:,} {unit}s, {len(models)} models."]),
        "missing": ("scores.parquet", study.matrix.absent.sentences or ["Every model has a score for every case."]),
        "intervals": (
            "values.csv",
            [f"{first['level']:.0%} intervals over {unit}s ({first['method']})."],
        ),
        "values": ("values.csv", [f"{one.model}: {one.value:.4g}, {one.words}." for one in models]),
        "pairs": (
            "pairs.csv",
            [
                f"{row['model_a']} minus {row['model_b']}: "
                f"{row['difference']:.4g} ({row['low']:.4g} to {row['high']:.4g})."
                for row in pairs.iter_rows(named=True)
                if row["low"] is not None
            ],
        ),
        "strata": (
            "strata.csv",
            [
                f"{row['model']}, {row['column']} {row['stratum']}: {row['value']:.4g} on {row['videos']} {unit}s."
                for row in strata.iter_rows(named=True)
                if row["value"] is not None and row["model"] in named
            ],
        ),
        "units": ("patients.csv", [f"Values of every {unit} are in the file."]),
        "failures": (
            "hard_cases.csv",
            [f"{row['case']}: {row['value']:.4g} on average." for row in hard.head(3).iter_rows(named=True)],
        ),
        "software": ("manifest.json", [f"surgvalid {__version__}."]),
    }
    return {name: [SourcedFact(text, file) for text in texts] for name, (file, texts) in facts.items()}


def _of_audit(audit: StudyAudit) -> dict[str, list[SourcedFact]]:
    """What checks saw; those that could not be made have no facts yet."""
    rows = audit.tables["guideline_items"].filter(pl.col("outcome").is_in([CheckOutcome.PASS, CheckOutcome.FAIL]))
    return {
        code: [SourcedFact(text, f"audit.html: {code}, {outcome}")]
        for code, outcome, text in rows.select("pitfall", "outcome", "facts").unique().iter_rows()
    }


def _of_challenge(path: Path) -> Finder:
    content = read_toml(path)
    ranking = content.get("ranking", {})
    defaults = {name: getattr(RankOptions(), name) for name in _RANKING if name not in ranking}

    def find(name: str) -> list[SourcedFact]:
        value = _at(content, name.split("."))
        if not (stated := _shown(value)):
            return []
        if isinstance(value, str) and stated.endswith(".md"):
            body = read_text(path.parent / stated).splitlines()
            return [SourcedFact(" ".join(" ".join(line for line in body if not line.startswith("#")).split()), stated)]
        more = {
            "ranking": f"; by default {_shown(defaults)}" if defaults else "",
            "ranking.rule": f": {rule_named(stated).summary}" if name == "ranking.rule" else "",
        }
        _, inside, key = name.rpartition(".")
        return [SourcedFact(f"{f'{key} ' if inside else ''}{stated}{more.get(name, '')}.", f"{path.name}: {name}")]

    return find


def _at(value: Any, names: Sequence[str]) -> Any:
    """What stands at a place; of tables in a list, by their short names."""
    if not names:
        return value
    if isinstance(value, list):
        return {one.get("slug", "?"): there for one in value if (there := _at(one, names)) is not None}
    return _at(value.get(names[0]), names[1:]) if isinstance(value, dict) else None


def _shown(value: Any) -> str:
    """A value in words."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {text}" for name, one in value.items() if (text := _shown(one)))
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return "" if value is None else str(value)
