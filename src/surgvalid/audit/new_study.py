"""A study file to fill in: what is known stands in it, what can be computed is not asked, the rest are questions."""

from __future__ import annotations

import json
import os
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from surgvalid.audit.answers import QUESTIONS, answer_problems
from surgvalid.audit.audit import audited
from surgvalid.audit.study import TABLES, AuditedStudy
from surgvalid.audit.study_files import STUDY_FILE, read_study, table_problems
from surgvalid.errors import FileUnreadable, SurgvalidError, WouldOverwrite
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.schema.tables.table_reading import read_scores

T = TypeVar("T")
_WIDTH = 116
_HEAD = """\
# A study, to be audited with `surgvalid audit {place}`.
# Remove the # before what the study has; paths are relative to this file.
"""


def new_study(folder: str | Path, *, ask: Callable[[str], str] | None = None, force: bool = False) -> Path:
    """Write `study.toml` into the folder, made from what is in it, and give its path.

    With `ask`, a study file that is there keeps what it says, and only what it leaves open is asked; what was answered
    is kept where asking is broken off. Questions that the results in the folder answer do not stand in it, nor those of
    checks that need data which are not there.

    Args:
        folder: Where the study is; made if it does not exist.
        ask: Asks a person one question and gives the answer, empty for none; nobody is asked if left out.
        force: Replace a study file that is there.

    Raises:
        WouldOverwrite: There is one, nobody is asked, and `force` is off.
    """
    home = Path(folder)
    path = home / STUDY_FILE
    there = path.exists() and not force
    if there and ask is None:
        raise WouldOverwrite(path)
    study = read_study(path)[0] if there else _known(home)
    keys = _open_questions(study)
    answers: dict[str, str] = {}
    try:
        answers.update((key, given) for key in keys if ask is not None and (given := _answer(key, ask)))
    finally:  # whoever stops asking in the middle keeps what was answered
        home.mkdir(parents=True, exist_ok=True)
        text = _with_answers(path, answers) if there else "\n".join(_lines(home, study, keys, answers))
        waiting = path.with_name(f".{STUDY_FILE}.new")
        waiting.write_text(text + "\n", encoding="utf-8")
        os.replace(waiting, path)
    return path


def _with_answers(path: Path, answers: Mapping[str, str]) -> str:
    """A study file with further answers; what stands in it stays."""
    text = path.read_text(encoding="utf-8").rstrip("\n")
    given = "".join(f"\n{key} = {value}" for key, value in answers.items())
    head, section, rest = text.partition("\n[answers]")
    return f"{head}{section}{given}{rest}" if section else f"{text}\n\n[answers]{given}"


def _known(home: Path) -> AuditedStudy | None:
    """The study as far as the folder holds it already, an earlier study file left aside."""
    if not home.is_dir() or (home / STUDY_FILE).exists():
        return None
    try:
        return read_study(home)[0]
    except FileUnreadable:
        scores = _score_tables(home)
        return read_study(home / scores[0])[0] if len(scores) == 1 else None


def _open_questions(study: AuditedStudy | None) -> list[str]:
    """What a person has to say; everything where nothing is known yet."""
    if study is None:
        return list(QUESTIONS)
    asked = audited(study).tables["questions"]["key"].to_list()
    return [key for key in QUESTIONS if key in asked]


def _answer(key: str, ask: Callable[[str], str]) -> str:
    """An answer as TOML; one that cannot be meant is asked for again, and left open after the third time."""
    question = f"{QUESTIONS[key].text} (such as {QUESTIONS[key].example})"
    for _ in range(3):
        toml = _as_toml(QUESTIONS[key].kind, ask(question).strip())
        try:
            problems = list(answer_problems(key, tomllib.loads(f"it = {toml}")["it"]))
        except tomllib.TOMLDecodeError:
            problems = ["not understood"]
        if not toml or not problems:
            return toml
        question = f"{problems[0]}; such as {QUESTIONS[key].example}"
    return ""


def _lines(home: Path, study: AuditedStudy | None, keys: Sequence[str], answers: Mapping[str, str]) -> Iterator[str]:
    name = home.resolve().name
    yield _HEAD.format(place=name)
    yield f"title = {json.dumps(study.name if study else name, ensure_ascii=False)}"
    yield "\n[data]"
    if study is not None and study.stored:
        yield 'results = "."'
    elif study is not None and study.scores is not None:
        yield f"scores = {json.dumps(_score_tables(home), ensure_ascii=False)}"
    else:
        yield '# scores = ["scores.csv"]   # model, case, video, value (and metric, phase, conditions)'
        yield '# results = "results"       # folders that verbs of surgvalid wrote'
    for table, kind in TABLES.items():
        if (stands := _named_after(home, table)) is not None:
            yield f"{table} = {json.dumps(stands, ensure_ascii=False)}"
        elif study is None or table not in study.tables:
            columns = ", ".join(dict.fromkeys((*kind.needed, *kind.texts, *kind.numbers)))
            yield f'# {table} = "{table}.csv"   # {kind.what}: {columns}'
    yield from ("", "# [columns.scores]", '# model = "algorithm"', "", "# [better]", '# dsc = "larger"')
    yield from ("", "# [metrics.dsc]", '# empty = "both empty: 1"', "# threshold = 0.5")
    yield "\n[answers]\n# false is an answer too: it was not done."
    for key in keys:
        question = QUESTIONS[key]
        yield from ("", *(f"# {line}" for line in textwrap.wrap(f"{question.pitfall}: {question.text}", _WIDTH)))
        if key in answers:
            yield f"{key} = {answers[key]}"
        else:
            yield f"# {key} = {question.example}"


def _tables(home: Path) -> list[Path]:
    there = home.iterdir() if home.is_dir() else ()
    return sorted(path for path in there if path.suffix.lower() in (".csv", ".parquet"))


def _score_tables(home: Path) -> list[str]:
    """The names of the files that are score tables."""
    return [path.name for path in _tables(home) if path.stem not in TABLES and _read(read_scores, path) is not None]


def _named_after(home: Path, table: str) -> str | None:
    """The file that has the name of a table and its columns; None where there is none."""
    named = ((path, _read(read_frame, path)) for path in _tables(home) if path.stem == table)
    return next((path.name for path, frame in named if frame is not None and not [*table_problems(table, frame)]), None)


def _read(reader: Callable[[Path], T], path: Path) -> T | None:
    """What a file holds, nothing where it is no such file."""
    try:
        return reader(path)
    except SurgvalidError:
        return None


def _as_toml(kind: str, given: str) -> str:
    """What a person typed, as TOML; a text needs no quotes."""
    if given.lower() in ("false", "no"):
        return "false"
    if given and kind == "text":
        return json.dumps(given, ensure_ascii=False)
    if given and kind == "names" and not given.startswith("["):
        return json.dumps([name.strip() for name in given.split(",")], ensure_ascii=False)
    return given
