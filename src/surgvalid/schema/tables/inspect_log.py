"""Logs of inspect: a zip (`.eval`) of small JSON documents, or one JSON document.

Members are packed by deflate, or since 2026 by Zstandard, which the standard library opens from Python 3.14 on. The
file may be hostile: nothing is unpacked to disk, names that climb out and sizes that explode are refused from the
table of contents, and no member may hold more than it claims.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.schema.archives import ArchiveLimits, archive_problems
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.harness_logs import (
    HarnessLog,
    Scored,
    contradicted,
    half_run,
    harness_log,
    number_of,
    section,
)
from surgvalid.schema.tables.tabular import first_line

_LIMITS = ArchiveLimits(members=2_000_000, unpacked_bytes=64 << 30, ratio=1_000)
_MOST_BYTES = 256 << 20
"""Of one member."""
_GRADES = frozenset("CIPN")
_ACCURACY = "accuracy"


def read_eval(path: Path) -> HarnessLog:
    """The scores in a `.eval` log.

    Raises:
        FileUnreadable: It is no such log, or holds no scores.
        Misuse: Its members need the package zstandard.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if problems := archive_problems(archive.infolist(), _LIMITS):
                raise FileUnreadable(str(path), problems)
            names = set(archive.namelist())
            started = "header.json" if "header.json" in names else "_journal/start.json"
            header = _json(archive, path, started)
            return read_document(path, header, _samples(archive, path, names))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, KeyError) as error:
        raise FileUnreadable(str(path), [f"no usable log of inspect ({first_line(error)[:200]})"]) from None


def _samples(archive: zipfile.ZipFile, path: Path, names: set[str]) -> Iterator[Any]:
    """The samples of a log, in the short form where it has one: transcripts are not read."""
    if "summaries.json" in names:
        yield from _json(archive, path, "summaries.json")
        return
    for name in sorted(names):
        if name.startswith("samples/") and name.endswith(".json"):
            yield _json(archive, path, name)


def read_document(path: Path, header: Any, samples: Iterable[Any]) -> HarnessLog:
    """The scores of samples, and what the header of their log, or all of it, says of them."""
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise FileUnreadable(str(path), ["no usable log of inspect (its header names no eval)"])
    run, status = str(header["eval"].get("task_id") or ""), header.get("status", "no header.json")
    if status != "success":
        return HarnessLog(pl.DataFrame(), run=run, stopped=str(status))
    model = str(header["eval"].get("model"))
    grades: dict[str, bool] = {}
    rows: list[Scored] = []
    for sample in samples:
        if not isinstance(sample, dict) or "id" not in sample:
            raise FileUnreadable(str(path), ["no usable log of inspect (a sample has no id)"])
        rows += _scored(path, model, sample, grades)
    names = list(dict.fromkeys(row.metric for row in rows if row.metric))
    scorers = tuple(dict.fromkeys(name.partition("/")[0] for name in names))
    called = {name: name for name in names}
    if len(scorers) == 1 < len(names):  # the parts of one score are called as they are
        called = {name: name.partition("/")[2] for name in names}
    elif len(names) == 1 and grades[names[0]]:  # what inspect calls the mean of such grades too
        called = {names[0]: _ACCURACY}
    rows = [row._replace(metric=called[name]) for row in rows for name in ([row.metric] if row.metric else names)]
    log = harness_log(path, rows, unit=_cluster(header))
    known = {one: MetricFacts(one) for name, one in called.items() if grades[name] and one != _ACCURACY}
    log = log._replace(metrics=known, scorers=scorers, task=str(header["eval"].get("task")), tool="inspect", run=run)
    why = " (its limit)" if section(header, "eval", "config").get("limit") else ""
    log = half_run(log, len({row.case for row in rows}), section(header, "eval", "dataset").get("samples"), why=why)
    held = len({(row.case, row.repeat) for row in rows})
    log = half_run(log, held, section(header, "results").get("total_samples"), "samples")
    means = {called[name]: mean for name, mean in _means(header).items() if name in called}
    return contradicted(log, means, f"{path.name} says", "its scorer")


def _means(header: Any) -> dict[str, float | None]:
    """The means over cases that the log says, by the scorer, or by the part of its score."""
    means: dict[str, float | None] = {}
    for score in _results(header):
        metrics, name = section(score, "metrics"), str(score.get("name"))
        mean = number_of((section(metrics, _ACCURACY) or section(metrics, "mean")).get("value"))
        if score.get("reducer", "mean") in ("mean", None):
            means |= {name: mean, f"{score.get('scorer')}/{name}": mean}
    return means


def _results(header: Any) -> list[Mapping[str, Any]]:
    return [one for one in section(header, "results").get("scores") or [] if isinstance(one, dict)]


def _scored(path: Path, model: str, sample: Mapping[str, Any], grades: dict[str, bool]) -> Iterator[Scored]:
    """The scores of one sample; one without a metric where it has none."""
    scores = sample.get("scores") or {}
    epoch = sample.get("epoch")
    repeat = epoch if isinstance(epoch, int) else 1
    row = Scored(model, str(sample["id"]), repeat, "", None, section(sample, "metadata"))
    held = False
    for scorer, score in scores.items() if isinstance(scores, dict) else ():
        value = score.get("value") if isinstance(score, dict) else None
        for name, one in value.items() if isinstance(value, dict) else [("", value)]:
            metric = f"{scorer}/{name}" if name else str(scorer)
            number = number_of(one)
            if number is None and one is not None and one == one:
                shown = repr(one)[:40]
                raise FileUnreadable(str(path), [f"sample {row.case!r}: scorer {scorer!r} gave {shown}, no number"])
            graded = isinstance(one, bool) or (isinstance(one, str) and one in _GRADES)
            grades[metric] = grades.get(metric, True) and (graded or number is None)
            held = True
            yield row._replace(metric=metric, value=number)
    if not held:
        yield row


def _cluster(header: Mapping[str, Any]) -> str | None:
    """The metadata by which the log's own standard errors are clustered, where all of its scorers agree."""
    every = [section(score, "metrics") for score in _results(header)]
    keys = {section(metrics, name, "params").get("cluster") for metrics in every for name in metrics}
    named = {key for key in keys if isinstance(key, str)}
    return named.pop() if len(named) == 1 else None


def _json(archive: zipfile.ZipFile, path: Path, name: str) -> Any:
    """The document in a member."""
    member = archive.getinfo(name)
    if member.file_size > _MOST_BYTES:
        raise FileUnreadable(str(path), [f"{name} is larger than {_MOST_BYTES >> 20} MiB; not read"])
    try:
        content = archive.read(member)  # no more than the size that it claims
    except NotImplementedError:
        content = _unpacked(archive, path, member)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise FileUnreadable(str(path), [f"{name} is no JSON"]) from None


def _unpacked(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> bytes:
    """The content of a member packed in a way that zipfile of this Python does not know."""
    if member.compress_type != 93:  # Zstandard
        message = f"{member.filename} is packed by method {member.compress_type}, which is not known here"
        raise FileUnreadable(str(path), [f"{message}; let inspect write the log again (inspect log convert)"])
    try:
        import zstandard
    except ImportError:
        raise Misuse(f"{path.name} is packed by Zstandard: pip install zstandard, or use Python 3.14") from None
    packed = copy(member)  # read as it is stored, which needs no method
    packed.compress_type, packed.file_size, packed.CRC = zipfile.ZIP_STORED, member.compress_size, None  # type: ignore[assignment]
    try:
        with (
            archive.open(packed) as handle,
            zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(handle) as reader,
        ):
            content: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise FileUnreadable(str(path), [f"{member.filename} is damaged ({error})"]) from None
    if zlib.crc32(content) != member.CRC:
        raise FileUnreadable(str(path), [f"{member.filename} is damaged (its checksum differs)"])
    return content
