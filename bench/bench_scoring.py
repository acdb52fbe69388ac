"""Scoring against the official toolkit's own code at FOCUS size, files included, and a million responses alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.bench_lint import write_files
from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgvalid import score
from surgvalid.schema.questions.formats import Rules
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.scoring.official import decide, results_csv, summarise, summary_csv
from surgvalid.scoring.official.summary import Kernel
from surgvalid.scoring.slices import rows_of
from surgvalid.scoring.summary import summarise as summarise_native

QUESTIONS, VIDEOS, REPLICATES, MODELS = 20_000, 200, 1_000, 20
MANY, MANY_S, MANY_MB = 1_000_000, 15.0, 1_200.0
"""Responses scored at once, and the CPU time and memory they may take."""
FORMATS = {"binary": "yes", "number": "3", "fo_class": "Clip", "time": "00:00:10", "percentage": "40%"}


def question_set(seed: int = 7) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    leaves = [leaf.value for group in Capability.groups() for leaf in group.leaves]
    video = rng.integers(0, VIDEOS, QUESTIONS)
    names = rng.choice(list(FORMATS), QUESTIONS).tolist()
    requests, references, responses = [], [], []
    for i in range(QUESTIONS):
        times = {"start_time": 0, "end_time": 60}
        requests.append({"qID": f"q{i}", "videoID": f"v{video[i]}", **times, "procedure_type": "p", "question": "?"})
        kind = {"primary": leaves[i % 15], "format": names[i], "ood": bool(i % 3 == 0)}
        references.append({"qID": f"q{i}", **kind, "answer": FORMATS[names[i]]})
        content = FORMATS[names[i]] if rng.random() < 0.6 else "no"
        responses.append({"qID": f"q{i}", "content": content, "latency": 1.5})
    return requests, references, responses


def rows() -> list[Row]:
    data = question_set()
    peer_s, theirs = _official(data)
    table = []
    for kernel in ("numpy", "numba"):
        ours, seconds = _ours(data, kernel)
        equal = "equal bytes" if ours == theirs else "BYTES DIFFER"
        work = f"official profile: {QUESTIONS:,} questions decided, 26 slices, {REPLICATES:,} replicates ({kernel})"
        table.append(Row(work, seconds, "orena-focus 0.4.0", peer_s, 30, equal))
    for name, one in _sets(data):
        table += _whole_calls(one, name)
    native_s = _native(data) / MODELS
    note = f"{MODELS} models at once; peak memory {peak_memory_mb():.0f} MB (the peer's run included)"
    table.append(Row("native summary, per model", native_s, "orena-focus 0.4.0", peer_s, 1000, note))
    return [*table, _many()]


def _sets(data: tuple[Any, Any, Any]) -> Iterator[tuple[str, tuple[Any, Any, Any]]]:
    """The set of mixed formats, and sets on which the toolkit has less to do, or we have more."""
    yield "mixed", data
    requests, references, responses = (rows[: QUESTIONS // 5] for rows in data)
    yield "20 videos", ([row | {"videoID": f"v{i % 20}"} for i, row in enumerate(requests)], references, responses)
    alike = {"primary": references[0]["primary"], "ood": False}
    yield "one bucket", (requests, [row | alike for row in references], responses)
    words = "The clip lies on the duct, case {}"
    open_ended = [row | {"format": "open_ended", "answer": words.format(i)} for i, row in enumerate(references)]
    yield "free text", (requests, open_ended, [row | {"content": words.format(i)} for i, row in enumerate(responses)])


def _whole_calls(data: tuple[Any, Any, Any], name: str) -> list[Row]:
    """The whole of `score`, from files to results, beside the toolkit's loaders and evaluator."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.json" for name in ("requests", "references", "responses")]
        for path, rows in zip(paths, data, strict=True):
            path.write_text(json.dumps(rows, indent=2), encoding="utf-8")
        peer_s = _official_files(paths)
        table = []
        for profile in ("orena-focus-0.4.0", "native"):
            work = f"score(), files included, profile {profile}: {len(data[0]):,} questions, {name}"
            seconds = cpu_seconds(partial(score, *paths, profile=profile, replicates=REPLICATES), repeat=2)
            table.append(Row(work, seconds, "orena-focus 0.4.0", peer_s, 25))
    return table


def _official_files(paths: list[Path]) -> float:
    from bench.official_toolkit import import_focus

    focus = import_focus()
    from focus.evaluation.evaluator import Evaluator

    def work() -> None:
        loaders = (focus.load_requests, focus.load_references, focus.load_responses)
        items = [load(path) for load, path in zip(loaders, paths, strict=True)]
        Evaluator(judges=[], n_boot=REPLICATES).run(*items)

    return cpu_seconds(work, repeat=1, warm_up=False)


def _many() -> Row:
    """A million responses in a process of its own, whose memory the kernel counts."""
    code = (
        "import sys, time; from surgvalid import score; start = time.process_time();"
        "score(*sys.argv[1:], missing='not_judged=worst'); print(time.process_time() - start,"
        "next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    with tempfile.TemporaryDirectory() as folder:
        requests, responses, references = write_files(Path(folder), MANY)
        command = [sys.executable, "-c", code, *map(str, (requests, references, responses))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    kept = "kept" if seconds <= MANY_S and memory / 1024 <= MANY_MB else "NOT kept"
    note = f"goal: {MANY_S:g} s and {MANY_MB:,.0f} MB; {kept}; peak memory {memory / 1024:,.0f} MB"
    return Row(f"score(), files included, native: {MANY:,} responses", seconds, "-", None, note=note)


def _official(data: tuple[Any, Any, Any]) -> tuple[float, tuple[str, str]]:
    from bench.official_toolkit import import_focus

    focus = import_focus()
    from focus.data.data_models import Reference
    from focus.evaluation.evaluator import Evaluator

    requests = [focus.Request(**row) for row in data[0]]
    references = [
        Reference(r["qID"], focus.Capability(r["primary"]), r["format"], r["answer"], ood=r["ood"]) for r in data[1]
    ]
    responses = [focus.Response(**row) for row in data[2]]
    evaluator = Evaluator(judges=[], n_boot=REPLICATES)
    frames: list[Any] = []
    seconds = cpu_seconds(
        lambda: frames.append(evaluator.run(requests, references, responses)), repeat=1, warm_up=False
    )
    results, summary = frames[0]
    return seconds, (results.to_csv(index=False), summary.to_csv(index=False))


def _ours(data: tuple[Any, Any, Any], kernel: Kernel) -> tuple[tuple[str, str], float]:
    texts: list[tuple[str, str]] = []

    def work() -> None:
        decided = decide(*data, rules=Rules(), limit_s=None, judge_all=lambda cases: [False] * len(cases))
        lines = summarise(decided, limit_s=None, replicates=REPLICATES, kernel=kernel)
        texts.append((results_csv(decided), summary_csv(lines)))

    seconds = cpu_seconds(work, repeat=2)
    return texts[0], seconds


def _native(data: tuple[Any, Any, Any]) -> float:
    rng = np.random.default_rng(1)
    values = (rng.random((QUESTIONS, MODELS)) < 0.6).astype(float)
    videos = np.unique([row["videoID"] for row in data[0]], return_inverse=True)[1]
    capabilities = [Capability(row["primary"]) for row in data[1]]
    labels = {
        "bucket": [f"{c.group.value}_{row['ood']}" for c, row in zip(capabilities, data[1], strict=True)],
        "leaf": [c.value for c in capabilities],
        "group": [c.group.value for c in capabilities],
        "answer_format": [row["format"] for row in data[1]],
    }
    slices = {(level, name): rows for level, names in labels.items() for name, rows in rows_of(names).items()}
    slices["overall", "all"] = np.arange(QUESTIONS)
    models = [f"m{i}" for i in range(MODELS)]
    return cpu_seconds(
        lambda: summarise_native(values, videos, models, slices, method="percentile", replicates=REPLICATES)
    )
