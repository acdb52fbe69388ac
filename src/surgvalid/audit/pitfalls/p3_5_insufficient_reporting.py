"""P3.5: nobody could repeat the study from what is written."""

from __future__ import annotations

from collections.abc import Iterator

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NotThere,
    Weight,
    declared,
    failed,
    judged,
    passed,
)
from surgvalid.audit.measures import listed, usual_values
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.results.folder import current, outputs_of
from surgvalid.results.manifest import sha256_of
from surgvalid.results.reading import StoredResult, is_file

ABOUT = Pitfall(
    "P3.5",
    "Insufficient reporting",
    Category.REPORTING,
    "Data sources, metric definitions, aggregation, versions, ethics, funding and known biases are missing, so a "
    "reader can neither repeat nor judge the result.",
    ("opaque",),
    (
        Seldom(97.8, "described their validation only in part", 46),
        Seldom(78.3, "did not report ethical aspects", 46),
        Seldom(89.1, "did not report on fairness or bias", 46),
    ),
    "What manifests hold (versions, options, seeds, hashes of inputs) and whether files still are what was written; "
    "whether printed numbers follow from the scores (mean or median over cases or over videos, rounded or cut off at "
    "the last digit of the column); and the declared statements on ethics, funding, bias and availability. Fails "
    "where a file was changed since, where a printed number does not follow, and where a statement is said not to "
    "exist.",
    "Keep results in the folders that verbs write, add the missing statements, and follow a reporting guideline.",
)
MOST_BYTES = 64_000_000
_HELD = ("surgvalid", "packages", "options", "inputs", "outputs")


def manifests(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What manifests hold, and whether outputs still are what they were."""
    if not study.stored:
        raise NotThere("results with manifests (the folders that verbs of surgvalid write)")
    lacking = [f"{result.label} ({name})" for result in study.stored for name in _HELD if name not in result.stored]
    changed = [f"{result.label}/{name}" for result in study.stored for name in _changed(result)]
    whole = sum(all(name in result.stored for name in _HELD) for result in study.stored)
    number = AuditNumber("results with a whole manifest", float(whole), n=len(study.stored))
    if changed:
        yield failed(f"Files are no longer what was written: {listed(changed)}.", number, weight=Weight.HIGH)
    elif lacking:
        yield failed(f"Manifests lack what a repeat needs: {listed(lacking)}.", number)
    else:
        yield passed(
            f"{len(study.stored)} results name versions, options, inputs and hashes; no file was changed.", number
        )


def reported_from_scores(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether reported numbers can be had from the scores."""
    frame, scores = study.printed.drop_nulls("value"), study.scored
    numbers, off, looked_at = [], [], 0
    for name in [name for name in scores.metrics if name in set(frame["metric"])]:
        matrix = scores.matrix(name, missing=study.missing)
        unpaired = {} if study.missing else usual_values(scores.matrix(name, missing="drop-score"))
        ways = {**usual_values(matrix), **{f"{way}, its own": values for way, values in unpaired.items()}}
        rows = frame.filter(metric=name)
        digits = max((len(f"{value:.6f}".rstrip("0").partition(".")[2]) for value in rows["value"]), default=0)
        for model, printed in rows.select("model", "value").iter_rows():
            if model in matrix.models:
                values = {way: float(column[matrix.models.index(model)]) for way, column in ways.items()}
                numbers += [
                    AuditNumber(f"{name}: {way}", value, subject=model, setting=f"printed {printed:g}")
                    for way, value in values.items()
                ]
                if not any(_prints_as(value, printed, digits) for value in values.values()):
                    words = ", ".join(f"{way} {value:.4g}" for way, value in values.items())
                    off.append(f"{model} {name} {printed:g} ({words})")
                looked_at += 1
    if not numbers:
        raise NotThere("printed numbers of models and metrics that the scores have")
    yield judged(
        off,
        f"Printed numbers that none of the usual means of the scores gives: {listed(off)}.",
        f"{looked_at} printed numbers follow from the scores.",
        *numbers,
    )


def _prints_as(value: float, printed: float, digits: int) -> bool:
    """Whether a value can be printed so, as a share or in percent, rounded or cut off at the last digit."""
    unit = 10.0**-digits + 1e-9
    return any(-unit <= printed - scale * value <= unit / 2 for scale in (1.0, 100.0))


def _changed(result: StoredResult) -> Iterator[str]:
    """Files whose hash is not the recorded one; what is gone, and video files, are not looked at."""
    home = result.path if result.path.is_dir() else result.path.parent
    recorded = {
        str(one.get("file")): one.get("sha256") for one in result.stored.get("outputs", ()) if isinstance(one, dict)
    }
    for name in outputs_of(result.stored):
        path = current(home, name)
        small = is_file(path) and path.stat().st_size <= MOST_BYTES
        if small and recorded.get(name) and sha256_of(path) != recorded[name]:
            yield name


LOOKS = (
    Look("manifests and unchanged files", manifests, needed=False),
    Look("printed numbers against the scores", reported_from_scores, needed=False, scored=True),
    declared("ethics", "a statement on ethics", weight=Weight.MEDIUM),
    declared("funding", "a statement on funding"),
    declared("bias", "a statement on bias and fairness", weight=Weight.MEDIUM),
    declared("availability", "a statement on data and code"),
)
