"""A study file to fill in: what is known stands in it, what can be computed is not asked, the rest are questions."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from surgeval.audit.answers import QUESTIONS
from surgeval.audit.audit import audited
from surgeval.audit.study import TABLES, Study
from surgeval.audit.study_files import STUDY_FILE, read_study, table_problems
from surgeval.errors import FileUnreadable, InputInvalid, SurgevalError, WouldOverwrite
from surgeval.schema.score_table import read_score_table
from surgeval.schema.table_files import read_frame

_WIDTH = 116
_HEAD = """\
# A study, to be audited with `surgeval audit {place}`.
# Remove the # before what the study has; paths are relative to this file.
"""


def new_study(folder: str | Path, *, ask: Callable[[str], str] | None = None, force: bool = False) -> Path:
    """Write `study.toml` into the folder, made from what is in it, and give its path.

    Questions that the results in the folder answer do not stand in it, nor those of checks that need data which are
    not there.

    Args:
        folder: Where the study is; made if it does not exist.
        ask: Asks a person one question and gives the answer, empty for none; nobody is asked if left out.
        force: Replace a study file that is there.

    Raises:
        WouldOverwrite: There is one, and `force` is off.
    """
    home = Path(folder)
    path = home / STUDY_FILE
    if path.exists() and not force:
        raise WouldOverwrite(path)
    study = _known(home)
    keys = _open_questions(study)
    answers = {key: given for key in keys if ask is not None and (given := ask(_asked(key)).strip())}
    home.mkdir(parents=True, exist_ok=True)
    text = "\n".join(_lines(home, study, keys, answers))
    waiting = path.with_name(f".{STUDY_FILE}.new")
    waiting.write_text(text + "\n", encoding="utf-8")
    os.replace(waiting, path)
    return path


def _known(home: Path) -> Study | None:
    """The study as far as the folder holds it already, an earlier study file left aside."""
    stands = home / STUDY_FILE
    if not home.is_dir() or stands.exists():
        return None
    try:
        return read_study(home)[0]
    except FileUnreadable:
        return None


def _open_questions(study: Study | None) -> list[str]:
    """What a person has to say; everything where nothing is known yet."""
    if study is None:
        return list(QUESTIONS)
    asked = audited(study).tables["questions"]["key"].to_list()
    return [key for key in QUESTIONS if key in asked]


def _asked(key: str) -> str:
    return f"{QUESTIONS[key].text} (such as {QUESTIONS[key].example})"


def _lines(home: Path, study: Study | None, keys: Sequence[str], answers: Mapping[str, str]) -> Iterator[str]:
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
        yield '# results = "results"       # folders that verbs of surgeval wrote'
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
            yield f"{key} = {_as_toml(question.kind, answers[key])}"
        else:
            yield f"# {key} = {question.example}"


def _tables(home: Path) -> list[Path]:
    there = home.iterdir() if home.is_dir() else ()
    return sorted(path for path in there if path.suffix.lower() in (".csv", ".parquet"))


def _score_tables(home: Path) -> list[str]:
    """The names of the files that are score tables."""
    return [path.name for path in _tables(home) if not _is_broken(read_score_table, path)]


def _named_after(home: Path, table: str) -> str | None:
    """The file that has the name of a table and its columns; None where there is none."""
    named = [path for path in _tables(home) if path.stem == table]
    return next((path.name for path in named if not _is_broken(lambda p: _checked(table, p), path)), None)


def _checked(table: str, path: Path) -> None:
    if problems := list(table_problems(table, read_frame(path))):
        raise InputInvalid(path.name, problems)


def _is_broken(reader: Callable[[Path], object], path: Path) -> bool:
    try:
        reader(path)
    except SurgevalError:
        return True
    return False


def _as_toml(kind: str, given: str) -> str:
    """What a person typed, as TOML; a text needs no quotes."""
    if given.lower() in ("false", "no"):
        return "false"
    if kind == "text":
        return json.dumps(given, ensure_ascii=False)
    if kind == "names" and not given.startswith("["):
        return json.dumps([name.strip() for name in given.split(",")], ensure_ascii=False)
    return given
