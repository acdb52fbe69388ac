"""The evaluation inside a platform's container: outputs of one submission in, value, interval and differences out.

One evaluation sees one submission, so nothing here ranks; `grand_challenge.leaderboard` does, on the organiser's desk.
What participants can read holds no value of a single hidden case, and no sentence quotes hidden data: a platform
shows all of `metrics.json` and the last line of stderr.
"""

from __future__ import annotations

import importlib.util
import json
import math
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from surgvalid.bridges.measured import slug
from surgvalid.errors import FileUnreadable, Misuse, SurgvalidError
from surgvalid.schema.documents import read_json, read_toml
from surgvalid.schema.metric_facts import BETTER
from surgvalid.schema.tables.column_words import quoted
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.interval import interval

PORT = 4743
SUBMISSION = "this submission"
PER_CASE = "per_case"
"""In `metrics.json`, where only organisers read it: every other output is shown beside a submission."""
_FEWEST_UNITS = 5
"""Strata of fewer videos are not told, nor what would tell them by subtraction: it would be that of single cases."""
INPUT, OUTPUT, TRUTH = Path("/input"), Path("/output"), Path("/opt/ml/input/data/ground_truth")

Score = Callable[[str, Any], float]


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """What `evaluate.toml` says."""

    case_socket: str
    """The input whose value, or whose image's name, names the case."""
    output_socket: str
    """The output with the prediction: what JSON holds, or of other outputs the file or folder."""
    metric: str
    better: str
    level: float = 0.95
    per_case: bool = False
    """Whether `metrics.json` holds the score of every case too; then participants may not see all of it."""

    @classmethod
    def read(cls, path: Path) -> MethodSettings:
        """The settings in a file.

        Raises:
            Misuse: A setting is missing, unknown or of the wrong kind.
        """
        record, names = read_toml(path), {one.name for one in fields(cls)}
        unknown, absent = sorted(record.keys() - names), sorted(_NEEDED - record.keys())
        odd = [one.name for one in fields(cls) if type(record.get(one.name)).__name__ not in (one.type, "NoneType")]
        if unknown or absent or odd or record["better"] not in BETTER:
            problems = f"unknown {unknown}, missing {absent}, of the wrong kind {odd}"
            raise Misuse(f"{path.name}: {problems}; better is one of {', '.join(BETTER)}")
        return cls(**record)


_NEEDED = {"case_socket", "output_socket", "metric", "better"}


def predictions(folder: Path, settings: MethodSettings) -> dict[str, Any]:
    """The prediction of each case, from what the platform mounts; jobs come in no order.

    Raises:
        Misuse: Outputs that cannot be read, or two for one case; counted, never quoted.
    """
    table, jobs = folder / "predictions.csv", folder / "predictions.json"
    if not table.is_file() and not jobs.is_file():
        raise Misuse(f"there is no {table.name} and no {jobs.name}")
    rows: Iterable[tuple[str | None, Any]]
    if table.is_file():
        rows = _columns(table, "case", "prediction").select("case", "prediction").rows()
    else:
        rows = [_of_job(folder, job, settings) for job in _jobs(jobs)]
    broken = sum(case is None for case, _ in rows)
    given = {str(case): value for case, value in rows if case is not None}
    if broken or len(given) + broken < len(rows):
        raise Misuse(
            f"{broken} of {len(rows)} outputs cannot be read or name no case, and "
            f"{len(rows) - broken - len(given)} name a case that another names too"
        )
    return given


def _columns(path: Path, *needed: str) -> pl.DataFrame:
    """A table with columns that are text, whatever stands in the other rows."""
    frame = read_frame(path, needed)
    if absent := [name for name in needed if name not in frame.columns]:
        raise Misuse(f"{path.name} has no column {quoted(absent)}")
    return frame


def _jobs(path: Path) -> list[Mapping[str, Any]]:
    jobs = read_json(path)
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise FileUnreadable(path.name, ["expected a list of jobs"])
    return jobs


def _of_job(folder: Path, job: Mapping[str, Any], settings: MethodSettings) -> tuple[str | None, Any]:
    """The case and the prediction of a job; no case where either cannot be read."""
    case = _socket(job.get("inputs"), settings.case_socket)
    output = _socket(job.get("outputs"), settings.output_socket)
    if case is None or output is None:
        return None, None
    image = case.get("image")
    named = case.get("value") if case.get("value") is not None else image.get("name") if image else None
    relative = str(_about(output).get("relative_path", ""))
    inside = PurePosixPath(str(job.get("pk")), "output", relative)
    if named is None or not relative or ".." in inside.parts or inside.is_absolute():
        return None, None
    try:
        place = (folder / inside).resolve(strict=True)
        return str(named), read_json(place) if place.suffix == ".json" else place
    except (FileUnreadable, OSError):
        return None, None


def _about(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """The socket of an input or output; packs until 2025 call it interface."""
    about = one.get("socket") or one.get("interface")
    return about if isinstance(about, dict) else {}


def _socket(several: Any, name: str) -> Mapping[str, Any] | None:
    held = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else []
    return next((one for one in held if _about(one).get("slug") == name), None)


def scored(given: Mapping[str, Any], truth: Path, score: Score) -> pl.DataFrame:
    """The score of every case of the references.

    Raises:
        Misuse: Cases without an output, outputs without a case, or outputs that cannot be scored.
    """
    references = _columns(truth / "references.csv", "case", "video", "reference").sort("case")
    cases = references["case"].to_list()
    if twice := len(cases) - len(set(cases)):
        raise Misuse(f"references.csv names {twice} cases more than once")
    missing, extra = len(set(cases) - given.keys()), len(given.keys() - set(cases))
    if missing or extra:
        raise Misuse(f"{missing} of {len(cases)} cases have no output, and {extra} outputs are of no case")
    values: list[float] = []
    for case, reference in references.select("case", "reference").iter_rows():
        try:
            values.append(float(score(reference, given[case])))
        except Exception as error:  # noqa: BLE001 - the organiser's own function, on what anybody sent
            kind = type(error).__name__
            raise Misuse(f"the output of a case has not the form that is asked for ({kind})") from None
    if endless := sum(not math.isfinite(value) for value in values):
        raise Misuse(f"{endless} of {len(cases)} outputs score no finite number; scoring.py says what they count as")
    return references.drop("reference").with_columns(pl.Series("value", values, dtype=pl.Float64))


def metrics(rows: pl.DataFrame, settings: MethodSettings, baselines: pl.DataFrame | None = None) -> dict[str, Any]:
    """What `metrics.json` holds: numbers under names without points, none of a single case."""
    ours = {"model": SUBMISSION, "metric": settings.metric}
    table = rows.with_columns(pl.lit(value).alias(name) for name, value in ours.items())
    asked: dict[str, Any] = {"level": settings.level, "better": settings.better}
    whole = interval(table, **asked).table.row(0, named=True)
    summary: dict[str, Any] = {
        **_ends(whole),
        "cases": whole["cases"],
        "videos": whole["videos"],
        "level": settings.level,
    }
    strata = [name for name in rows.columns if name not in ("case", "video", "value")]
    summary["strata"] = {
        key: _keyed((row[name], _ends(row)) for row in by.iter_rows(named=True) if row[name] in levels)
        for key, name in _keyed((name, name) for name in strata).items()
        for levels, by in [(_levels_told(rows, name), interval(table, by=[name], **asked).table)]
    }
    differences: list[tuple[str, dict[str, float]]] = []
    for (name,), values in baselines.group_by("model", maintain_order=True) if baselines is not None else ():
        other = values.select("model", "case", pl.col("value").cast(pl.Float64)).drop_nulls()
        other = other.join(rows.drop("value"), on="case").with_columns(metric=pl.lit(settings.metric))
        if other.height != rows.height:
            raise Misuse(f"baselines.csv: {name!r} has {other.height} values for {rows.height} cases")
        both = pl.concat([table.select(other.columns), other])
        row = compare(both, SUBMISSION, str(name), **asked).table.row(0, named=True)
        sign = 1 if settings.better == "larger" else -1
        ahead = row["low"] is not None and min(sign * row["low"], sign * row["high"]) > 0
        differences.append((str(name), {**_ends(row, "difference"), "ahead": int(ahead)}))
    summary["baselines"] = _keyed(differences)
    return summary


def _levels_told(rows: pl.DataFrame, name: str) -> list[Any]:
    """The levels of a property that are told: what is left of the whole without them is of as many videos."""
    videos = rows.drop_nulls(name).group_by(name).agg(pl.col("video").n_unique()).sort("video", name, descending=True)
    levels = videos.filter(pl.col("video") >= _FEWEST_UNITS)[name].to_list()
    while levels and 0 < rows.filter(~pl.col(name).is_in(levels).fill_null(False))["video"].n_unique() < _FEWEST_UNITS:
        levels.pop()
    return levels


def _keyed(named: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """By names that a path can hold, which has points between its keys; none for two."""
    keyed: dict[str, Any] = {}
    for name, one in named:
        key = slug(str(name)).replace(".", "-")
        while key in keyed:
            key += "_"
        keyed[key] = one
    return keyed


def _ends(row: Mapping[str, Any], name: str = "value") -> dict[str, float]:
    """A value with its interval, as far as there is one."""
    ends = {name: row[name], "low": row["low"], "high": row["high"]}
    if row["low"] is not None:
        ends["half_width"] = (row["high"] - row["low"]) / 2
    return {key: value for key, value in ends.items() if value is not None}


def summed_up(pack: Path, given: Path, truth: Path) -> tuple[MethodSettings, pl.DataFrame, dict[str, Any]]:
    """The settings of a pack, the score of each case of what was submitted, and what is told of it."""
    settings = MethodSettings.read(pack / "evaluate.toml")
    rows = scored(predictions(given, settings), truth, organisers_score(pack / "scoring.py"))
    place = truth / "baselines.csv"
    baselines = _columns(place, "model", "case", "value") if place.is_file() else None
    return settings, rows, metrics(rows, settings, baselines)


def evaluate(pack: Path, *, given: Path = INPUT, out: Path = OUTPUT, truth: Path = TRUTH) -> dict[str, Any]:
    """Evaluate what is mounted, and write `metrics.json`; with the scores of cases only where that was asked for."""
    settings, rows, summary = summed_up(pack, given, truth)
    if settings.per_case:
        summary[PER_CASE] = rows.with_columns(metric=pl.lit(settings.metric)).to_dicts()
    (out / "metrics.json").write_text(json.dumps(summary, indent=2, sort_keys=True), encoding="utf-8")
    return summary


def organisers_score(path: Path) -> Score:
    """The organiser's own function `score(reference, prediction)`."""
    spec = importlib.util.spec_from_file_location("scoring", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Misuse(f"{path.name} is not there")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        score: Score = module.score
    except (SyntaxError, AttributeError) as error:
        raise Misuse(f"{path.name} defines no score(reference, prediction) ({error})") from None
    return score


def serve(pack: Path, *, port: int = PORT, **places: Path) -> None:
    """Answer the platform: `GET /health` when ready, `POST /invoke` with 201 when the output is complete."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200 if self.path == "/health" else 404)

        def do_POST(self) -> None:
            self._answer(404 if self.path != "/invoke" else 201 if in_a_line(lambda: evaluate(pack, **places)) else 500)

        def _answer(self, code: int) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing: the last line of stderr is shown to whoever submitted."""

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the first process of a container ignores it otherwise
    with HTTPServer(("127.0.0.1" if places else "0.0.0.0", port), Answers) as server:
        server.serve_forever()


def in_a_line(act: Callable[[], object]) -> bool:
    """Whether it went well; else one plain line says why not, and of what nobody foresaw only the kind."""
    try:
        act()
    except SurgvalidError as error:
        message = str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may quote hidden data
        message = f"the evaluation failed ({type(error).__name__})"
    else:
        return True
    print(" ".join(message.split()), file=sys.stderr, flush=True)
    return False


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(Path(sys.argv[2]))
    sys.exit(not in_a_line(lambda: evaluate(Path(sys.argv[2]))))
