"""`surgvalid data`: a benchmark from annotated procedures, simulated procedures, and what a data set folder holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from surgvalid.cli._annotations import about_files
from surgvalid.cli._console import deliver, emit, emit_json, emit_table, new_folder, progress_bar, talk
from surgvalid.errors import Misuse

if TYPE_CHECKING:
    from surgvalid.datasets import About, DataReport
    from surgvalid.questions.benchmark import Benchmark
    from surgvalid.results.result import Result
    from surgvalid.schema.procedures.foreign_objects import ForeignObject
    from surgvalid.schema.procedures.tracks import Procedure


def questions_verb(
    annotations: list[Path] | None,
    out: Path,
    keep: Path | None,
    confirmed: int,
    replacements: bool,
    references: bool,
    track: list[str] | None,
    ood_procedure: list[str],
    ood_center: list[str],
    ood_template: list[str],
    most_common: float,
    duplicates: float,
    blind: float,
    definitions: Path | None,
    annotated: list[str] | None,
    procedure_type: str | None,
    center: str | None,
    fps: float | None,
    size: str | None,
    video: list[str] | None,
    video_name: str | None,
    stills: bool,
    data_set: str,
    json: bool,
    force: bool,
    **asked: Any,
) -> None:
    """Make questions with reference answers that can be proved from the annotations, or freeze those that were made."""
    from surgvalid.questions.make import make_questions
    from surgvalid.questions.release import freeze
    from surgvalid.questions.sources import with_known_classes
    from surgvalid.schema.procedures.foreign_objects import FOREIGN_OBJECTS, INSTRUMENT, read_definitions
    from surgvalid.schema.procedures.procedure_files import procedure_paths

    if keep is None and (confirmed or replacements or not references):
        raise Misuse("--min confirmed, --with replacements and --without references are of a set: name it with --keep")
    if replacements and not references:
        raise Misuse("replacements come with references: freeze them first, then --keep that --without references")

    def frozen(made: Benchmark | None) -> Result:
        return freeze(
            keep or "", history=asked["history"], confirmed=confirmed, replacements=made, public=not references
        )

    if keep is not None and not replacements:
        new_folder(out, force=force)
        deliver(frozen(None), out=out, as_json=json, force=force)
        return
    if not annotations:
        raise Misuse("name the annotations that questions are made from; only --keep without replacements needs none")
    about = about_files(
        annotations,
        fps=fps,
        size=size,
        video=video,
        video_name=video_name,
        stills=stills,
        annotated=[word for word in annotated or () if word.startswith(INSTRUMENT)],
        procedure_type=procedure_type,
        center=center,
    )
    files, imported, objects = _imported(annotations, about, data_set)
    if not objects:
        known = read_definitions(definitions) if definitions else FOREIGN_OBJECTS
        imported, read_as = with_known_classes(imported, [kind.name for kind in known])
        for line in read_as:
            talk(line)
    paths = procedure_paths(files)
    new_folder(out, force=force)
    with _kept(imported, out) as kept, progress_bar("drafting questions", len(paths) + len(kept)) as step:
        made = make_questions(
            paths + kept,
            tracks=track,
            ood_procedures=ood_procedure,
            ood_centers=ood_center,
            ood_templates=ood_template,
            most_common_share=most_common,
            duplicate_share=duplicates,
            blind_share=blind,
            annotated=[word for word in annotated or () if not word.startswith(INSTRUMENT)],
            objects=objects or definitions,
            progress=step,
            **asked,
        )
        deliver(frozen(made) if keep else made, out=out, as_json=json, force=force)


def _imported(
    annotations: list[Path], about: About, data_set: str
) -> tuple[list[Path], list[Procedure], tuple[ForeignObject, ...] | None]:
    """The sources that are procedure files already, and what a data set or files of annotation tools hold, by video.

    Of a data set also its classes, which stand for those of foreign objects.
    """
    from surgvalid.datasets import join_procedures, labelled_videos, open_data_set, read_annotations, recognised_tool

    files, imported = [], []
    if data_set:
        if len(annotations) > 1:
            raise Misuse(f"--data-set {data_set} takes one folder, got {len(annotations)} paths")
        return [], *labelled_videos(open_data_set(data_set), annotations[0])
    for path in annotations:
        tool = recognised_tool(path) if path.exists() else None
        if tool is None:
            files.append(path)
            continue
        procedures, findings = read_annotations(path, tool=tool, about=about)
        imported += procedures
        for line, count in Counter(map(str, findings)).items():
            talk(line if count == 1 else f"{line} ({count} videos)")
    return files, join_procedures(imported, talk), None


@contextmanager
def _kept(procedures: list[Procedure], out: Path) -> Iterator[list[Path]]:
    """Paths of the procedures, written as files so that the manifest can name what the questions rest on.

    Where no questions come of them, the folder is left as it was.
    """
    from surgvalid.schema.procedures.procedure_files import write_procedure

    folder = out / "annotations"
    paths = [folder / f"{number:04d}.json" for number, _ in enumerate(procedures, start=1)]
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    new = [place for place in (folder, out) if paths and not place.exists()]
    try:
        for path, procedure in zip(paths, procedures, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_procedure(procedure, path)
        yield paths
    except BaseException:
        for path, content in before.items():
            path.unlink(missing_ok=True) if content is None else path.write_bytes(content)
        for place in new:
            place.rmdir()
        raise


def simulate_verb(
    folder: Path | None,
    out: Path | None,
    procedures: int,
    seed: int,
    video: bool,
    minutes: str | None,
    fps: float | None,
    height: int,
    clock: bool,
    object_masks: bool,
    passes: bool,
    pairs: bool,
    types: list[str] | None,
    centers: list[str] | None,
    json: bool,
    force: bool,
    workers: int = 0,
) -> None:
    """Simulate procedures with phases, foreign objects, artefacts and, where wanted, video."""
    from surgvalid.simulation.simulate import all_cores, clip_spec, simulate

    place = _place(folder, out)
    simulation = simulate(
        procedures,
        seed=seed,
        types=types,
        centers=centers,
        minutes=_minutes(minutes),
        width_px=2 * round(height * 8 / 9),
        height_px=height,
    )
    spec = clip_spec(_rate(fps), height)
    new_folder(place, force=force)
    total_s = sum(scene.duration_s for scene in simulation.scenes()) if procedures <= 200 else None
    with progress_bar("seconds simulated", total_s) as step:
        table = simulation.to_dir(
            place,
            video=video,
            clock=clock,
            masks=object_masks,
            passes=passes,
            pairs=pairs,
            spec=spec,
            workers=workers if workers > 0 else all_cores(),
            force=force,
            step=step,
        )
    talk(f"written to {place}")
    if json:
        emit_json({"procedures": table.to_dicts()})
    else:
        emit_table(table, title=f"Simulated procedures (seed {seed})")


def _rate(fps: float | None) -> int:
    """The frame rate of painted videos; 5 is the official clip specification."""
    if fps is not None and not fps.is_integer():
        raise Misuse(f"--fps: painted videos have a whole number of frames per second, got {fps:g}")
    return 5 if fps is None else int(fps)


def _place(folder: Path | None, out: Path | None) -> Path:
    """The one folder that was named.

    Raises:
        Misuse: None was, or two.
    """
    named = [place for place in (folder, out) if place is not None]
    if len(named) != 1:
        raise Misuse("name the folder to write to once: --out DIR")
    return named[0]


def _minutes(text: str | None) -> tuple[float, float] | None:
    """The shortest and longest duration that the text states."""
    if text is None:
        return None
    parts = text.split("-")
    try:
        numbers = [float(bound) for bound in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise Misuse(f"--minutes must be a number such as 20 or a range such as 10-45, got {text!r}")
    return numbers[0], numbers[-1]


_SHOWN = 5


def check_folder(data_set: str, folder: Path, tasks: Sequence[str], json: bool) -> None:
    """Count what the folder of a data set holds, and list what is missing, broken or differs from what was published.

    The last line says which tasks the folder can be used for, and what the others lack.

    Exit code 0: complete, as published, or notes only. 1: errors or warnings, also where parts are absent. 2: misuse.
    """
    from surgvalid.datasets import open_data_set
    from surgvalid.schema.findings import Severity

    report = open_data_set(data_set).check(folder, tasks=list(tasks) or None)
    if json:
        listed = [finding.as_dict() for finding in report.findings]
        what = {"ok": report.ok, "usable": list(report.usable), "lacking": dict(report.lacking)}
        emit_json({"data_set": data_set, **what, "counts": report.counts.to_dicts(), "findings": listed})
    else:
        _show(report)
    clean = all(finding.severity is Severity.NOTE for finding in report.findings)
    raise typer.Exit(0 if clean else 1)


def _show(report: DataReport) -> None:
    """The counts, then the findings, errors first and the first few of every code."""
    from surgvalid.schema.findings import Severity

    emit_table(report.counts)
    emit("")
    counts = Counter(finding.code for finding in report.findings)
    shown: Counter[str] = Counter()
    for finding in sorted(report.findings, key=lambda one: list(Severity).index(one.severity)):
        shown[finding.code] += 1
        if shown[finding.code] <= _SHOWN:
            emit(str(finding))
        if shown[finding.code] == counts[finding.code] > _SHOWN:
            emit(f"... and {counts[finding.code] - _SHOWN} more {finding.code}; --json lists all")
    emit(report.verdict)
