"""An evaluation method for grand-challenge: its pack, its rehearsal with the platform's mounts, and its leaderboard.

The platform ranks by order of numbers; who is better, and how sure, needs all submissions at once. So the pack gives
each submission its value with an interval and its difference to the baselines, and the leaderboard is made by the
organiser from what the platform's API tells.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.bridges.measured import write_texts
from surgvalid.bridges.method import PER_CASE, PORT, TRUTH, MethodSettings
from surgvalid.errors import EngineFailed, FileUnreadable, UnknownName
from surgvalid.schema.documents import read_json, read_text

_FILES = {
    "Containerfile": """\
# podman build --build-arg BASE=surgvalid -t method . && podman save method | gzip > method.tar.gz
# BASE is an image with surgvalid in it (packaging/Containerfile of its repository).
ARG BASE
FROM ${BASE}
LABEL org.grand-challenge.api-method="invoke"
COPY evaluate.toml scoring.py /opt/pack/
USER 65532
ENTRYPOINT ["python3", "-m", "surgvalid.bridges.method", "serve", "/opt/pack"]
""",
    "evaluate.toml": """\
case_socket = "case-name"        # the input whose value, or whose image's name, names the case
output_socket = "answer"         # the output with the prediction; of other than JSON scoring.py gets the path
metric = "accuracy"
better = "larger"
level = 0.95
per_case = false                 # true: scores of cases for the leaderboard; display_all_metrics must be off then
""",
    "scoring.py": '''\
"""What one case scores."""


def score(reference: str, prediction: object) -> float:
    """1 where the prediction is the reference; change it to what your task asks for."""
    return float(str(prediction).strip().casefold() == reference.strip().casefold())
''',
    "ground_truth/references.csv": "case,video,reference\n",
    "ground_truth/baselines.csv": "model,case,value\n",
}
_ENGINE = (
    "--detach --runtime runc --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --network none --cap-drop all "
    "--security-opt no-new-privileges --memory 8g --pids-limit 128 --read-only --user 65534:65534 --env HOME=/tmp"
).split()
_CALL = (
    "import urllib.request as u; print(u.urlopen(u.Request('http://127.0.0.1:{port}{path}', method='{verb}')).status)"
)
_READY_S = 300
_MADE = 201
KEEPS = ("last", "best")


def new(folder: str | Path) -> list[Path]:
    """Write a pack to change: Containerfile, settings, the scoring of a case, ground truth, settings of the phase.

    Raises:
        WouldOverwrite: A file is there.
    """
    return [*write_texts(_FILES, folder, force=False, by_force=False), _write_settings(Path(folder))]


def pack_files(pack: Path, folder: str) -> dict[str, str]:
    """The files of a pack that run, or those of its ground truth, by name.

    Raises:
        FileUnreadable: One is not there.
    """
    wanted = [name for name in _FILES if str(Path(name).parent) == (folder or ".") and name != "Containerfile"]
    return {Path(name).name: read_text(pack / name) for name in wanted}


def _write_settings(pack: Path, baselines: Iterable[str] = ()) -> Path:
    settings = phase_settings(MethodSettings.read(pack / "evaluate.toml"), baselines)
    path = pack / "phase_settings.json"
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return path


def phase_settings(settings: MethodSettings, baselines: Iterable[str] = ()) -> dict[str, Any]:
    """What to type into the settings of the phase; paths are keys of `metrics.json` with points between them."""
    order = "desc" if settings.better == "larger" else "asc"
    columns = [
        {"title": f"ahead of {name}", "path": f"baselines.{name}.ahead", "order": "desc", "exclude_from_ranking": True}
        for name in baselines
    ]
    return {
        "score_title": settings.metric,
        "score_jsonpath": "value",
        "score_error_jsonpath": "half_width",
        "score_default_sort": order,
        "extra_results_columns": columns,
        "display_all_metrics": not settings.per_case,
    }


class Rehearsed(NamedTuple):
    """What the platform would have seen."""

    health: int
    invoke: int
    metrics: dict[str, Any]
    stderr: str


def rehearse(
    pack: str | Path,
    given: str | Path,
    out: str | Path,
    *,
    image: str,
    mounts: Sequence[str] = (),
) -> Rehearsed:
    """Run a pack under podman as the platform does: its mounts, no network, nobody's rights.

    After an evaluation that went well `phase_settings.json` is written anew, with a column for each baseline.

    Args:
        pack: The folder that `new` wrote.
        given: What the platform mounts as `/input`.
        out: An empty folder, `/output`.
        image: The image that was built from the pack; runs what it holds, as it starts by itself.
        mounts: Further ones, `HOST:CONTAINER:ro`.

    Raises:
        EngineFailed: There is no podman, or the container does not start or answer.
    """
    if shutil.which("podman") is None:
        raise EngineFailed("podman", "not installed here; install it to rehearse")
    place, name = Path(pack).resolve(), f"surgvalid-rehearsal-{uuid.uuid4().hex[:12]}"
    inner = {"/input:ro": given, f"{TRUTH}:ro": place / "ground_truth", "/output": out}
    binds = [*mounts, *(f"{Path(outer).resolve()}:{inside}" for inside, outer in inner.items())]
    volumes = [word for bind in binds for word in ("--volume", bind)]
    _podman("run", *_ENGINE, "--name", name, "--tmpfs", "/tmp", *volumes, image)
    try:
        health = _ready(name)
        invoke = _asked(name, "/invoke", "POST")
        stopped = _podman("stop", "--time", "10", name)
        stderr = _podman("logs", name).stderr
    finally:
        subprocess.run(["podman", "rm", "--force", "--time", "0", name], capture_output=True, check=False)
    summary: dict[str, Any] = read_json(Path(out) / "metrics.json") if invoke == _MADE else {}
    if summary:
        _write_settings(place, summary["baselines"])
    return Rehearsed(health, invoke, summary, stderr + stopped.stderr)


def _ready(name: str) -> int:
    until = time.monotonic() + _READY_S
    while not (code := _asked(name, "/health", "GET")) and time.monotonic() < until:
        time.sleep(0.5)
    return code


def _asked(name: str, path: str, verb: str) -> int:
    """The status of an answer; 0 where there is none, 500 where it says so."""
    program = _CALL.format(port=PORT, path=path, verb=verb)
    done = subprocess.run(
        ["podman", "exec", name, "python3", "-c", program], capture_output=True, text=True, check=False
    )
    if "on running containers" in done.stderr:
        printed = _podman("logs", name).stderr.strip().splitlines()
        raise EngineFailed("podman", f"the container ended: {(printed or ['without a word'])[-1]}")
    return int(done.stdout) if done.stdout.strip().isdecimal() else 500 if "HTTP Error 500" in done.stderr else 0


def _podman(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["podman", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineFailed("podman", f"{words[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done


class PlatformScores(NamedTuple):
    """The scores of all submissions, for `surgvalid.rank` and `surgvalid.study`."""

    scores: pl.DataFrame
    left_out: tuple[str, ...]
    """Submissions without scores of cases, and why; they are never 0."""


def leaderboard(
    evaluations: str | Path | Sequence[Mapping[str, Any]], *, keep: str = "last", better: str = "larger"
) -> PlatformScores:
    """The scores of a phase, from the evaluations that the platform's API tells.

    Args:
        evaluations: The list, or the file with it (`/api/v1/evaluations/`, or its `results`).
        keep: Which submission of a user counts: the `last`, or the `best` by its value.
        better: Which values are better, for `best`.

    Raises:
        FileUnreadable: There is no evaluation with scores of cases, or not all evaluations of one phase.
    """
    if keep not in KEEPS:
        raise UnknownName("choice among the submissions of a user", keep, KEEPS)
    where: str = "evaluations"
    document: Any = evaluations
    if isinstance(evaluations, str | Path):
        where, document = str(evaluations), read_json(evaluations)
    several = document.get("results", []) if isinstance(document, dict) else document
    if not several or not all(isinstance(one, dict) and "submission" in one for one in several):
        raise FileUnreadable(where, ["holds no evaluations; take what /api/v1/evaluations/ answers"])
    if isinstance(document, dict) and len(several) < document.get("count", 0):
        raise FileUnreadable(where, [f"holds {len(several)} of {document['count']} evaluations; ask with limit=1000"])
    if (phases := len({str(one["submission"].get("phase")) for one in several})) > 1:
        raise FileUnreadable(where, [f"holds evaluations of {phases} phases; ask with submission__phase=..."])
    several = sorted(several, key=lambda one: str(one.get("created")))
    left_out: list[str] = []
    sign = (1 if better == "larger" else -1) if keep == "best" else 0
    newest: dict[str, tuple[tuple[float, str], str, list[dict[str, Any]]]] = {}
    for one in several:
        user, summary = str(one["submission"]["creator"]["username"]), _summary(one)
        rows, value = summary.get(PER_CASE), summary.get("value")
        if not one.get("published", True):
            why = "not published"
        elif one.get("method") != several[-1].get("method"):
            why = "by an earlier method; evaluate it again"
        elif not rows or not isinstance(value, int | float):
            why = "without scores of cases"
        else:
            about = one["submission"]
            place = (sign * value, str(about.get("created", one.get("created"))))  # the last, or of equal ones the last
            newest[str(about.get("pk", one.get("pk")))] = (place, user, rows)
            continue
        left_out.append(f"{one.get('pk')} of {user}: {one.get('status')}, {why}")
    if not newest:
        needed = "per_case = true in evaluate.toml, and an organiser's token"
        raise FileUnreadable(where, [f"no evaluation has scores of cases, which need {needed}; {left_out[-1]}"])
    by_user = {user: rows for _, user, rows in sorted(newest.values(), key=lambda one: one[0])}
    frames = [
        pl.DataFrame(rows).select(pl.lit(user).alias("model"), pl.exclude("model")) for user, rows in by_user.items()
    ]
    return PlatformScores(pl.concat(frames, how="diagonal_relaxed"), tuple(left_out))


def _summary(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `metrics.json` of an evaluation holds."""
    for output in one.get("outputs") or []:
        if (output.get("socket") or output.get("interface") or {}).get("slug") == "metrics-json-file":
            return output["value"] if isinstance(output.get("value"), dict) else {}
    return {}
