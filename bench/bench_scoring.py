"""The official summary and the native one against the official toolkit's own code, at FOCUS size."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgeval.schema.formats import Rules
from surgeval.schema.taxonomy import Capability
from surgeval.scoring.official import decide, results_csv, summarise, summary_csv
from surgeval.scoring.official.bootstrap import Kernel
from surgeval.scoring.slices import rows_of
from surgeval.scoring.summary import summarise as summarise_native

QUESTIONS, VIDEOS, REPLICATES, MODELS = 20_000, 200, 1_000, 20
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
    native_s = _native(data) / MODELS
    note = f"{MODELS} models at once; peak memory {peak_memory_mb():.0f} MB (the peer's run included)"
    table.append(Row("native summary, per model", native_s, "orena-focus 0.4.0", peer_s, 1000, note))
    return table


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
