"""What a registration says of the data: the planned number of videos, exclusions with reasons, the cases first seen.

Settings alone bind nothing: who may choose the patients afterwards can show nearly anything with the settings of
before. So a run under a registration counts the videos that enter its analysis against the planned number, and each
that was excluded stands there by name with a reason; it must be in the plan's list or in the data first seen, if only
with an empty score. The names of the first run of any verb are kept beside the registration (`looks.json`) as hashes
with a salt: nobody reads a patient's name there, and a later run with other cases is noticed. A verb that calls cases
by other names adds them for later runs; its videos are those of the first look. Of the scores of each model, metric and
video their number and a hash are kept, and hashes over which case has which score, stratum or reference, by which
changed scores, exchanged cases and new labels are noticed. Names count in any spelling, numbers to six digits; a
metric that the registration does not name is that of the verb's first run. Each run is added with
its deviations and a hash over itself and the run before, the first over the registration's: a changed entry does not
fit. Both ends of that chain stand in each result, where a file made anew would differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json
from surgvalid.schema.tables.spellings import without_words

LOOKS = "looks.json"
SIZE, CASES, ADDED, UNIT, SCORES, STRATA = "sample_size", "cases", "added", "unit", "scores", "strata"
METRIC = "analysed_metric"
OF_DATA = (SIZE, CASES, ADDED, UNIT, SCORES, STRATA, METRIC)
"""What a reason is given for where the data differ, beside the names of excluded videos."""
PLANNED = "videos"
"""The entry of a plan that lists the videos to come, where they are known."""


class SeenData(NamedTuple):
    """What an analysis was made of."""

    given: set[str]
    """Videos in the data."""
    used: set[tuple[str, str]]
    """Video and case of all that enters the analysis."""
    tables: list[pl.DataFrame]
    """The scores that were given, one row for each."""
    metrics: set[str]
    """Those that were analysed, where the table decides it."""


_SCORED = {"model", "metric", "video", "value"}
"""Columns of scores that can be known again."""
_SEEN: ContextVar[SeenData | None] = ContextVar("_SEEN", default=None)


@contextmanager
def seen_cases() -> Iterator[SeenData]:
    """What is analysed while it is open."""
    seen = SeenData(set(), set(), [], set())
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def note_cases(frame: pl.DataFrame, *, used: bool = True, metric: str = "") -> pl.DataFrame:
    """The rows as they are, their videos and cases noted, as used where they have a score, and the metric analysed.

    Of rows that name neither nothing is known.
    """
    names = [name for name in ("patient", "video", "case") if name in frame.columns]
    if (seen := _SEEN.get()) is not None and names:
        seen.metrics.update([metric] * bool(metric))
        seen.tables.extend([frame] * _SCORED.issubset(frame.columns))
        seen.given.update(frame[names[0]].drop_nulls().cast(pl.String))
        scored = frame.drop_nulls([name for name in (names[0], names[-1], "value") if name in frame.columns])
        columns = (scored[name].cast(pl.String) for name in (names[0], names[-1]))
        seen.used.update(zip(*columns, strict=True) if used else ())
    return frame


class AddedRun(NamedTuple):
    """A run that was kept."""

    first_look: str
    """The hash of the first run."""
    look: str
    """The hash of this one."""
    earlier: list[dict[str, Any]]
    """The runs before it, each once; of one that repeats another those before that."""
    unheld: list[str]
    """Models of which there are no earlier scores."""


def read_looks(registration: Path, sha256: str) -> dict[str, Any]:
    """What was run under the registration in a file: `registration`, `salt`, `runs`; all new where nothing was.

    Raises:
        FileUnreadable: The file is not what surgvalid writes, of another registration, or was changed.
    """
    path = registration.with_name(LOOKS)
    new = {"registration": sha256, "salt": secrets.token_hex(16), "runs": []}
    if not path.is_file():
        return new
    stored = read_json(path)
    if not isinstance(stored, dict) or any(type(stored.get(key)) is not type(new[key]) for key in new):
        raise FileUnreadable(str(path), ["no record of runs under a registration"])
    if stored["registration"] != sha256:
        raise FileUnreadable(str(path), ["data were looked at under another registration; keep each in its own folder"])
    for number, run in enumerate(stored["runs"]):
        if not isinstance(run, dict) or run.get("sha256") != _link(stored, number):
            raise FileUnreadable(str(path), [f"run {number + 1} or one before it was changed after it was written"])
    return stored


def _link(looks: Mapping[str, Any], number: int) -> str:
    """The hash of a run and all before it."""
    before = looks["runs"][number - 1]["sha256"] if number else looks["registration"]
    run = {key: value for key, value in looks["runs"][number].items() if key != "sha256"}
    return _hash(str(looks["salt"]), before, json.dumps(run, sort_keys=True))


def data_differences(
    content: Mapping[str, Any], looks: Mapping[str, Any], seen: SeenData, named: set[str]
) -> tuple[dict[str, str], list[str]]:
    """How the data of a run differ from what was registered and first seen, in words by what needs a reason.

    With them come problems that no reason explains; `named` are the videos that one is given for.
    """
    videos, salt, runs = {video for video, _ in seen.used}, str(looks["salt"]), looks["runs"]
    planned, size = _hashes(salt, content.get(PLANNED, ())), content.get(SIZE)
    first = runs[0]["names"] if runs else {"given": _hashes(salt, seen.given), "videos": planned}
    here = _hashes(salt, videos)
    words = {name: f"{name} was excluded" for name in sorted(named) if _named(salt, name) not in here}
    problems = [
        f"nothing shows that there was a {name}: it is neither in the plan's list of videos nor in the data first "
        "seen, if only with an empty score"
        for name in words
        if _named(salt, name) not in {*first["given"], *planned}
    ]
    there = {*_hashes(salt, words), *here}
    if size is not None and len(videos) + len(words) != size:
        also = f" and {len(words)} excluded" if words else ""
        words[SIZE] = f"{SIZE} is {len(videos)}{also}, registered was {size}"
    now = {_named(salt, *pair): _named(salt, pair[0]) for pair in seen.used}
    known, before = _known(runs, now), first["videos"] or here
    scores, kept = _scores(salt, seen), _first_kept(runs)
    both = [(*scores[one], *kept[one][1:]) for one in scores.keys() & kept.keys()]
    fewer = {video for video, count, _, least, _ in both if count < least}
    if thinned := len({*(known[one] for one in known.keys() - now), *fewer}.intersection(here)):
        words[CASES] = f"{CASES} of the first look are missing in {thinned} videos"
    more = sum(count - most for _, count, _, most, _ in both if count > most)
    if new := sum(one not in known if known else video not in before for one, video in now.items()) or more:
        words[ADDED] = f"{new} cases were {ADDED} to those planned or seen first"
    bound, first_bound = _bound(salt, seen), _first_kept(runs, "bound")
    moved = [one for key, one in bound.items() if key in first_bound and first_bound[key] != one]
    exchanged = {video for video, column, _ in moved if column == "value"}
    if other := len(exchanged | {video for video, count, digest, n, value in both if count == n and digest != value}):
        words[SCORES] = f"{SCORES} of {other} videos are not those of the first look"
    if columns := sorted({column for _, column, _ in moved} - {"value"}):
        other = len({video for video, column, _ in moved if column in columns})
        words[STRATA] = f"{STRATA} ({', '.join(columns)}) of {other} videos are not those of the first look"
    if lost := len({*first["videos"]} - there):
        problems.append(f"{lost} videos planned or seen first are not here; name each with --deviation NAME=REASON")
    return words, problems


def _known(runs: Sequence[Mapping[str, Any]], now: Mapping[str, str]) -> Mapping[str, str]:
    """The cases first seen by the names that these have; nothing where they were never called so."""
    looks = [run["names"]["cases"] for run in runs if "names" in run]
    return next((cases for cases in looks if cases.keys() & now.keys()), {})


def _first_kept(runs: Sequence[Mapping[str, Any]], what: str = "scores") -> dict[str, list[Any]]:
    """What was kept of the scores as they were first seen: of each its video and hash, of `scores` their number too."""
    return {key: value for run in reversed(runs) for key, value in run.get(what, {}).items()}


def _scores(salt: str, seen: SeenData) -> dict[str, list[Any]]:
    """The scores now; of a video its cases may be called otherwise."""
    held: dict[str, list[Any]] = {}
    for table in seen.tables:
        unit = "patient" if "patient" in table.columns else "video"
        rows = table.drop_nulls(["model", "metric", unit, "value"])
        for (model, metric, video), some in rows.group_by("model", "metric", unit):
            key, values = _named(salt, str(video), str(model), str(metric)), map(_plain, some["value"].sort())
            held[key] = [_named(salt, str(video)), some.height, _hash(key, *values)]
    return held


def _bound(salt: str, seen: SeenData) -> dict[str, list[Any]]:
    """Which case has which score, and which entry of every column that models share, by video and names of cases."""
    held: dict[str, list[Any]] = {}
    for table in seen.tables:
        unit = "patient" if "patient" in table.columns else "video"
        if "case" not in table.columns:
            continue
        rows = table.drop_nulls(["model", "metric", unit, "case", "value"])
        for (model, metric, video), some in rows.group_by("model", "metric", unit):
            held |= _pairs(salt, some, "value", (str(model), str(metric), str(video)))
        others = [name for name in rows.columns if name not in ("model", "metric", unit, "case", "value")]
        for (video,), some in rows.group_by(unit):
            for column in others:
                pairs = some.select("case", column).unique()
                held |= _pairs(salt, pairs, column, (str(video),)) if pairs["case"].is_unique().all() else {}
    return held


def _pairs(salt: str, rows: pl.DataFrame, column: str, names: tuple[str, ...]) -> dict[str, list[Any]]:
    pairs = sorted((str(case), _plain(entry)) for case, entry in rows.select("case", column).iter_rows())
    key = _named(salt, names[-1], column, *names[:-1], *(case for case, _ in pairs))
    return {key: [_named(salt, names[-1]), column, _hash(salt, key, *(entry for _, entry in pairs))]}


def add_run(
    registration: Path, looks: dict[str, Any], verb: str, seen: SeenData, deviations: Mapping[str, Any]
) -> AddedRun:
    """Keep a run beside its registration."""
    salt, runs = str(looks["salt"]), looks["runs"]
    cases = dict(sorted((_named(salt, *pair), _named(salt, pair[0])) for pair in seen.used))
    names = {"given": _hashes(salt, seen.given), "videos": sorted(set(cases.values())), "cases": cases}
    scores, bound = _scores(salt, seen), _bound(salt, seen)
    data = _hash(*cases, *(one[-1] for kept in (scores, bound) for _, one in sorted(kept.items())))
    split = {video for video, case in seen.used if case != video}  # the others are cases themselves
    count = sum(case != video or video not in split for video, case in seen.used)
    run = {"verb": verb, "videos": len(names["videos"]), "cases": count, "data": data, "deviations": deviations}
    run["metrics"] = sorted(seen.metrics)
    cores = [{key: one.get(key) for key in run} for one in runs]
    before = next((n for n, core in enumerate(cores) if core == run), len(runs))
    earlier = [one for n, one in enumerate(runs[:before]) if cores[n] not in cores[:n]]
    first = _first_kept(runs[:before])
    of_models = {
        str(model): _scores(salt, seen._replace(tables=[table.filter(pl.col("model") == model)]))
        for table in seen.tables
        for model in table["model"].drop_nulls().unique()
    }
    unheld = sorted(model for model, kept in of_models.items() if not kept.keys() & first.keys())
    new: dict[str, Any] = {} if _known(runs, cases) else {"names": names}
    for what, kept in (("scores", scores), ("bound", bound)):
        if unseen := kept.keys() - _first_kept(runs, what).keys():
            new[what] = {key: kept[key] for key in sorted(unseen)}
    new["models"] = sorted(of_models)
    runs.append({"date": datetime.now(UTC).date().isoformat(), **run, **new})
    runs[-1]["sha256"] = _link(looks, len(runs) - 1)
    path = registration.with_name(LOOKS)
    waiting = path.with_name(f".{LOOKS}.{os.getpid()}")
    waiting.write_text(json.dumps(looks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
    os.replace(waiting, path)
    return AddedRun(runs[0]["sha256"], runs[-1]["sha256"], earlier, unheld)


def _hashes(salt: str, names: Iterable[str]) -> list[str]:
    return sorted(_named(salt, name) for name in names)


def _named(salt: str, video: str, *case: str) -> str:
    """The hash of a video, or of a case in it, in whatever spelling the video has."""
    plain, words = without_words(video)
    return _hash(salt, plain, *sorted(map(str, words)), *case)


def _plain(entry: object) -> str:
    """An entry as text, whatever type a file gave it; of a number the six digits that no format loses."""
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)


def _hash(*names: str) -> str:
    return hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
