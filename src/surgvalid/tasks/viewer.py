"""Every case of runs and scores on one page: what was shown and asked, what each model said, how that was read and why.

The page is complete in itself and asks no server for anything: images, texts and script lie in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.models import Can, Clip, PromptImage, QuestionMedia
from surgvalid.schema.questions.question_files import load_questions, load_responses
from surgvalid.tasks.asking import BETWEEN
from surgvalid.tasks.cases import SPAN
from surgvalid.tasks.prepare import PreparedTask, TaskOptions, prepare_task
from surgvalid.tasks.prompts import Asks
from surgvalid.tasks.reading import TASKS
from surgvalid.tasks.result import RUN_FILE, read_responses
from surgvalid.tasks.task import TaskForm, TaskInstance

MOST_CASES = 200
"""Unless somebody wants more: a page holds its images."""


@dataclass
class _Page:
    """What the page holds."""

    cases: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)

    def case(self, task: str, name: str, **about: Any) -> dict[str, Any]:
        """The case of this name, made where it is new."""
        return self.cases.setdefault((task, name), {"task": task, "case": name, **about, "runs": []})

    def shown(self, images: Iterable[str | PromptImage | Clip]) -> list[dict[str, Any]]:
        """The places of images in the page, each kept once."""
        places = []
        for one in images:
            if isinstance(one, PromptImage):
                if one.digest not in self.pictures:
                    self.pictures[one.digest] = _data_url(one.path)
                places.append({"id": one.digest, "at": one.at_s})
        return places


def case_page(runs: Sequence[str | Path], *, data: str | Path | None = None, limit: int = MOST_CASES) -> str:
    """The page of the cases of some runs of tasks or folders of `score`.

    Args:
        runs: Folders that `task run` or `score` wrote; those of several models are set side by side.
        data: The folder of the data set, where it is not where it was; of the videos, for folders of `score`, whose
            cases are shown without images otherwise.
        limit: So many cases of each task at most, evenly spread.

    Raises:
        FileUnreadable: A folder without a run, or a damaged one.
        InputInvalid: The data are not there as they were.
        Misuse: Nothing was named, or a limit of none.
    """
    if not runs or limit < 1:
        raise Misuse("name folders of runs or scores, and a limit of 1 or more")
    page = _Page()
    for place in map(Path, runs):
        folders = [place] if (place / RUN_FILE).is_file() else [path.parent for path in sorted(place.rglob(RUN_FILE))]
        for folder in folders:
            _add_run(page, folder, data, limit)
        if not folders:
            _add_scores(page, place, data, limit)
    cases = list(page.cases.values())
    models = list(dict.fromkeys(run["model"] for one in cases for run in one["runs"]))
    facts = f"{len(cases):,} cases, {len(models)} models: {', '.join(models)}. Complete in itself."
    document = {"title": "Cases", "facts": facts, "cases": cases, "pictures": page.pictures}
    return _html(json.dumps(document, ensure_ascii=False))


# --- runs of tasks -------------------------------------------------------------------------------


def _add_run(page: _Page, folder: Path, data: str | Path | None, limit: int) -> None:
    record, answers = _stored(folder)
    with TemporaryDirectory(prefix="sg-cases-") as frames:
        prepared = _spread(_prepared(record, data, frames), limit)
        asking = prepared.asking
        asking.finder.cut((*asking.media.values(), *asking.shot_media.values()))
        rows = {row["case"]: row for row in prepared.cases.table.iter_rows(named=True)}
        replies = _replies(folder, per_class=asking.text.asks is Asks.PER_CLASS)
        for prompt in prepared.prompts():
            name = prompt.id if prompt.id in rows else prompt.id.rpartition(BETWEEN)[0]
            row, read = rows[name], answers[name]
            words = "\n".join(piece for piece in prompt.parts if isinstance(piece, str))
            reference, classes = _reference(prepared.task, row)
            one = page.case(
                prepared.task.name,
                name,
                video=str(row["video"]),
                prompt=words,
                reference=reference,
                classes=classes,
                pictures=page.shown(asking.finder.shown(asking.media[name], native_video=False)),
            )
            if any(run["model"] == record["model"] for run in one["runs"]):
                continue  # the other questions of a case that is asked about class by class
            one["runs"].append(
                {
                    "model": record["model"],
                    "status": read["outcome"],
                    "reading": read["reading"],
                    "why": "; ".join(filter(None, (read.get("path"), read["problem"], read["notes"]))),
                    "answer": read["answer"],
                    "reply": replies.get(name, ""),
                    "score": _score(prepared.task, row, read["answer"]),
                }
            )


def _stored(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    try:
        record = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        answers = pl.read_csv(folder / "answers.csv", infer_schema=False)
        return record, {row["case"]: row for row in answers.iter_rows(named=True)}
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        raise FileUnreadable(str(folder), ["no run of a task; name the folder of one task and one model"]) from None


def _prepared(record: Mapping[str, Any], data: str | Path | None, frames: str) -> PreparedTask:
    stored = {**record["options"], "videos": tuple(record["options"]["videos"])}
    options = TaskOptions(**{**stored, "family": record["family"], "prompts": record["version"]})
    task = record["task"] if record["task"] in TASKS else record["file"]
    return prepare_task(task, Can(**record["can"]), data or record["root"], options, frames=frames)


def _spread(prepared: PreparedTask, limit: int) -> PreparedTask:
    table = prepared.cases.table
    step = max(1, -(-table.height // limit))
    return prepared.only(table.gather_every(step))


def _replies(folder: Path, *, per_class: bool) -> dict[str, str]:
    """What the model said about each case; with several questions, one line each."""
    replies: dict[str, list[str]] = {}
    for one in read_responses(folder):
        replies.setdefault(one.id.rpartition(BETWEEN)[0] if per_class else one.id, []).append(one.outcome.text)
    return {name: "\n".join(texts) for name, texts in replies.items()}


def _reference(task: TaskInstance, row: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The reference of a case in words, and the classes that it can be found by."""
    if task.answer.form is TaskForm.CHOICE:
        return str(row["reference"]), [str(row["reference"])]
    if task.answer.form is TaskForm.LABELS:
        present = [name for name in task.answer.classes if row[f"reference:{name}"]]
        return ", ".join(present) or "none", present
    if task.answer.form is TaskForm.SPAN:
        return f"{row[SPAN[0]]:g} to {row[SPAN[1]]:g} s", []
    return "see the reference files", []


def _score(task: TaskInstance, row: Mapping[str, Any], answer: str | None) -> float | None:
    """The score of a case by itself: right or wrong, or the overlap of spans; None where only all together have one."""
    if task.answer.form in (TaskForm.BOXES, TaskForm.MASKS, TaskForm.TEXT):
        return None
    if answer is None:
        return 0.0
    value = json.loads(answer)
    if task.answer.form is TaskForm.CHOICE:
        return float(value == row["reference"])
    if task.answer.form is TaskForm.LABELS:
        return float(all(value.get(name) == bool(row[f"reference:{name}"]) for name in task.answer.classes))
    (low, high), (start, end) = value, (row[name] for name in SPAN)
    shared, whole = min(high, end) - max(low, start), max(high, end) - min(low, start)
    return max(0.0, shared) / whole if whole > 0 else 0.0


# --- scores of questions -------------------------------------------------------------------------


def _add_scores(page: _Page, folder: Path, data: str | Path | None, limit: int) -> None:
    """The questions of a folder of `score`, whose manifest names the files that it was made from."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        results = pl.read_csv(folder / "results.csv", infer_schema_length=None).rename({"qID": "case"})
        given = {name: [str(path) for path in _listed(manifest["given"][name])] for name in _FILES}
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        raise FileUnreadable(str(folder), ["neither a run of a task nor a folder of surgvalid score"]) from None
    questions = load_questions(given["requests"], given["references"])
    responses = {one.case: one for one in load_responses(given["responses"]).responses}
    model = str(manifest["settled"].get("model") or manifest["options"].get("model") or folder.name)
    step = max(1, -(-results.height // limit))
    with TemporaryDirectory(prefix="sg-cases-") as frames:
        shown = {}
        if data is not None:
            media = QuestionMedia(Path(data), "segment", Path(frames), frames=_FRAMES)
            chosen = (questions.requests[case] for case in results.gather_every(step)["case"])
            shown = {one.case: page.shown(media.pictures(one)) for one in chosen}
    for row in results.gather_every(step).iter_rows(named=True):
        request, reference = questions.requests[row["case"]], questions.references[row["case"]]
        one = page.case(
            "questions",
            row["case"],
            video=request.video,
            prompt=f"{request.question}\n[{request.start_s:g} to {request.end_s:g} s of {request.video}]",
            reference=reference.answer,
            classes=[reference.capability.value, reference.format],
            pictures=shown.get(row["case"], []),
        )
        response = responses.get(row["case"])
        right, why = row["correctness"], row.get("flags") or ""
        if response is not None and response.content and row.get("reason") == "unreadable":
            why = questions.format_of(reference).explain(response.content).message
        one["runs"].append(
            {
                "model": model,
                "status": row.get("status") or "answered",
                "reading": row.get("reason") or ("right" if right else "wrong"),
                "why": why,
                "answer": None if response is None else response.content,
                "reply": "" if response is None else response.content or "",
                "score": None if right is None else float(right),
            }
        )


_FILES = ("requests", "references", "responses")
_FRAMES = 6
"""Of the stretch that a question is about."""


def _listed(given: Any) -> Iterator[Any]:
    return iter(given if isinstance(given, list) else [given])


# --- the page ------------------------------------------------------------------------------------


def _data_url(path: Path) -> str:
    """An image as it stands in the page."""
    content = path.read_bytes()
    kind = "png" if content[:4] == b"\x89PNG" else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _html(document: str) -> str:
    script, style = _asset("cases.js"), _asset("cases.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    closed = document.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>Cases</title>\n<style>\n{style}</style>\n</head>\n<body>\n{_asset('cases.html')}"
        f'<script type="application/json" id="data">{closed}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


@cache
def _asset(name: str) -> str:
    return files("surgvalid.tasks").joinpath("assets", name).read_text(encoding="utf-8")
