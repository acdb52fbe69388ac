"""Sets of simulated procedures: drawn on demand, written as files, the same for the same seed.

Videos are written frame by frame, so memory does not grow with their length. Worker processes end with this one even
when it is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.folder import files_below, staged
from surgvalid.results.manifest import MANIFEST, manifest_of, write_manifest
from surgvalid.results.request import VerbRequest, plain_value
from surgvalid.results.tables.evaluation import PROCEDURES
from surgvalid.schema.procedures.procedure_files import write_procedure
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.simulation.centers import CENTERS, center_named
from surgvalid.simulation.procedure_types import PROCEDURE_TYPES, procedure_type
from surgvalid.simulation.renderer import Renderer, check_drawing
from surgvalid.simulation.scene import Scene, draw_scene
from surgvalid.simulation.timelines import Floats
from surgvalid.simulation.truth import MaskFile, true_procedure
from surgvalid.stats.draws import stream
from surgvalid.video import converted, pyav
from surgvalid.video.clips import OFFICIAL_CLIP, ClipSpec, burn_clock, clip_writer, planes_of

ORPHANED = 3
"""How a worker ends whose parent is gone."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C is heard after the block, in which workers are started by handing them work.

    The signal of a terminal goes to workers too, and each that is still loading modules would answer with a traceback,
    as would one whose parent ended before it had told what to do. They begin with the signal held back.
    """
    if current_thread() is not main_thread():  # no other hears signals
        yield
        return
    heard: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))  # another thread may catch it
    resource_tracker.ensure_running()  # were it started by the block, it would let the signal through again
    _hold_interrupts(True)
    try:
        yield
    finally:
        _hold_interrupts(False)
        signal.signal(signal.SIGINT, usual)
    if heard:
        raise KeyboardInterrupt


def _hold_interrupts(held: bool) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK if held else signal.SIG_UNBLOCK, {signal.SIGINT})


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of fresh processes. A worker of a plain pool waits for ever once its parent was killed; these do not."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)


def all_cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _follow_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is answered once, by the parent
    _hold_interrupts(False)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)


Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Simulation:
    """A set of simulated procedures. Nothing is kept: each is drawn when it is asked for."""

    count: int
    seed: int
    types: tuple[str, ...] | None
    centers: tuple[str, ...] | None
    minutes: tuple[float, float] | None
    width_px: int
    height_px: int

    def scenes(self, *, first: int = 0) -> Iterator[Scene]:
        """The scenes, one at a time, from number `first` on; type and centre of each are drawn from the lists.

        Half of the procedures are of the first type when none are chosen (cholecystectomies, as in the public data).
        """
        if self.count < 1:
            raise Misuse(f"at least one procedure must be simulated, got {self.count}")
        kinds, homes = list(self.types or PROCEDURE_TYPES), list(self.centers or CENTERS)
        shares = np.full(len(kinds), 1.0)
        shares[0] = 1.0 if self.types else max(len(kinds) - 1, 1)
        for number in range(first, self.count):
            rng = stream(self.seed, "simulation", str(number), "kind")
            yield draw_scene(
                self.seed,
                number,
                procedure=kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))],
                center=homes[int(rng.integers(len(homes)))],
                minutes=self.minutes,
                width_px=self.width_px,
                height_px=self.height_px,
            )

    def scene(self, number: int) -> Scene:
        """One scene by its number."""
        if not 0 <= number < self.count:
            raise Misuse(f"there are {self.count} procedures, numbered from 0; got {number}")
        return next(self.scenes(first=number))

    def procedures(self) -> Iterator[Procedure]:
        """The true annotations of every procedure, one at a time."""
        return (true_procedure(scene) for scene in self.scenes())

    def conditions(self) -> Iterator[tuple[str, dict[str, Floats]]]:
        """Of every procedure, its name and the strength of every image condition at every whole second."""
        return ((scene.video, scene.conditions(np.arange(scene.duration_s, dtype=float))) for scene in self.scenes())

    @property
    def table(self) -> pl.DataFrame:
        """One row per procedure: type, centre, length and what occurs in it."""
        return PROCEDURES.frame([_row(scene, true_procedure(scene)) for scene in self.scenes()])

    def to_dir(
        self,
        path: str | Path,
        *,
        video: bool = False,
        clock: bool = False,
        masks: bool = False,
        passes: bool = False,
        pairs: bool = False,
        instruments: bool = True,
        spec: ClipSpec = OFFICIAL_CLIP,
        workers: int = 1,
        force: bool = False,
        step: Step | None = None,
    ) -> pl.DataFrame:
        """Write annotations, image conditions, videos where wanted, and a manifest; returns the table.

        Args:
            path: The folder. It receives `procedures/*.json`, `conditions/*.parquet`, `procedures.csv`,
                `manifest.json`, and with video `videos/*.mp4` (and `overlayed/*.mp4` with a clock), with masks
                `masks/*.json`, with passes and pairs folders of these names.
            video: Whether to paint videos.
            clock: Whether to write them with a burned-in clock as well.
            masks: Whether to write the pixels of every object at every whole second (COCO, run-length encoded).
            passes: Whether to write every pass of every tenth second, with relations.
            pairs: Whether to write a moment of every object with it and without it.
            instruments: Whether to tell where instruments are, which takes as long as all else that is told.
            spec: How videos are encoded; the rate is theirs too.
            workers: Processes; the files are the same for any number.
            force: Write into a folder that holds a simulation already.
            step: Called with the seconds of video that were finished.

        Raises:
            WouldOverwrite: The folder holds a simulation and `force` is off.
        """
        if video:
            pyav()
        # Boxes are in pixels of the image, so the video clip must not shrink it.
        whole = replace(spec, max_height_px=max(spec.max_height_px, self.height_px))
        extras = {"masks": masks, "passes": passes, "pairs": pairs}
        options = {"video": video, "clock": clock, **extras, "instruments": instruments, "fps": spec.fps}
        with staged(Path(path), force=force) as folder:
            for name in ("procedures", "conditions", *(name for name, wanted in extras.items() if wanted)):
                (folder / name).mkdir()
            job = _Job(self, folder, video, clock, instruments, whole)
            rows = (
                _in_pool(job, workers, step)
                if workers > 1 and self.count > 1
                else [job.write(number, step) for number in range(self.count)]
            )
            if pairs:
                from surgvalid.simulation.render.export import write_paired_questions

                write_paired_questions(folder / "pairs")
            table = PROCEDURES.frame(rows)
            table.write_csv(folder / "procedures.csv")
            request = VerbRequest(
                "simulate", {name: plain_value(value) for name, value in {**asdict(self), **options}.items()}
            )
            write_manifest(folder / MANIFEST, manifest_of(request, main="procedures", outputs=files_below(folder)))
        return table


def simulate(
    procedures: int = 4,
    *,
    seed: int = 42,
    types: Sequence[str] | None = None,
    centers: Sequence[str] | None = None,
    minutes: tuple[float, float] | None = None,
    width_px: int = 480,
    height_px: int = 270,
) -> Simulation:
    """A set of simulated procedures.

    Args:
        procedures: How many.
        seed: The same seed gives the same set; a longer set starts with the shorter one.
        types: Types of procedure to draw from; all when None, half of them cholecystectomies.
        centers: Centres to draw from; all when None.
        minutes: Shortest and longest duration; what is usual for each type when None.
        width_px: Width of the image.
        height_px: Height of the image.

    Raises:
        UnknownName: No such type or centre; the message carries the nearest.
        Misuse: Several such names, all in the message, or numbers out of range.
        ExtraNeeded: numba is not installed.

    Example:
        >>> simulation = simulate(2, seed=7, types=["Appendectomy"], minutes=(10, 12))
        >>> [procedure.procedure_type for procedure in simulation.procedures()]
        ['Appendectomy', 'Appendectomy']
    """
    types, centers = _names(types), _names(centers)
    _refuse_unknown((procedure_type, types), (center_named, centers))
    kinds = tuple(procedure_type(name).name for name in types) or None
    homes = tuple(center_named(name).name for name in centers) or None
    simulation = Simulation(procedures, seed, kinds, homes, minutes, width_px, height_px)
    check_drawing()
    next(simulation.scenes())  # complains now rather than in the middle of the work
    return simulation


def _names(asked: Sequence[str] | None) -> tuple[str, ...]:
    """The names that were asked for; a text is one name, not its letters."""
    return (asked,) if isinstance(asked, str) else tuple(asked or ())


def _refuse_unknown(*asked: tuple[Callable[[str], object], Sequence[str]]) -> None:
    """Raise what is wrong with any of the names, each of which its function knows or refuses."""
    refused = []
    for known, names in asked:
        for name in dict.fromkeys(names):
            try:
                known(name)
            except UnknownName as refusal:
                refused.append(refusal)
    if len(refused) == 1:
        raise refused[0]
    if refused:
        raise Misuse("; ".join(map(str, refused)))


@dataclass(frozen=True, slots=True)
class _Job:
    """What is written of each procedure."""

    simulation: Simulation
    folder: Path
    video: bool
    clock: bool
    instruments: bool
    spec: ClipSpec

    def write(self, number: int, step: Step | None = None) -> dict[str, Any]:
        """Write one procedure and return its row."""
        scene = self.simulation.scene(number)
        masks, passes, pairs = (self.folder / name for name in ("masks", "passes", "pairs"))
        pixels = MaskFile(scene.width_px, scene.height_px) if masks.exists() else None
        procedure = true_procedure(scene, instruments=self.instruments, keep=pixels.add if pixels else None)
        if pixels:
            pixels.write(procedure, masks / f"{scene.video}.json")
        from surgvalid.simulation.render.export import write_pairs, write_passes

        if passes.exists():
            write_passes(scene, passes)
        if pairs.exists():
            write_pairs(scene, procedure, pairs)
        write_procedure(procedure, self.folder / "procedures" / f"{scene.video}.json")
        conditions_table(scene).write_parquet(self.folder / "conditions" / f"{scene.video}.parquet")
        if self.video:
            write_clip(
                scene,
                plain=self.folder / "videos" / f"{scene.video}.mp4",
                overlayed=self.folder / "overlayed" / f"{scene.video}.mp4" if self.clock else None,
                spec=self.spec,
                step=step,
            )
        elif step:
            step(scene.duration_s)
        return _row(scene, procedure)


def _in_pool(job: _Job, workers: int, step: Step | None) -> list[dict[str, Any]]:
    count = job.simulation.count
    rows: dict[int, dict[str, Any]] = {}
    with worker_pool(min(workers, count)) as pool:
        with interrupts_held():
            running = {pool.submit(job.write, number): number for number in range(count)}
        for done in as_completed(running):
            rows[running[done]] = done.result()
            if step:
                step(int(rows[running[done]]["duration_s"]))
    return [rows[number] for number in range(count)]


def conditions_table(scene: Scene) -> pl.DataFrame:
    """The strength of every image characteristic at every whole second."""
    seconds = np.arange(scene.duration_s)
    levels = scene.conditions(seconds.astype(float))
    return pl.DataFrame(
        {"second": seconds, **{kind: np.round(level, 3).astype(np.float32) for kind, level in levels.items()}}
    )


def _row(scene: Scene, procedure: Procedure) -> dict[str, Any]:
    return {
        "video": scene.video,
        "procedure_type": scene.kind.name,
        "center": scene.center.name,
        "duration_s": scene.duration_s,
        "objects": len(procedure.tracks),
        "events": len(procedure.events),
        "masked_s": sum(span.length_s for span in procedure.masked),
    }


def clip_spec(fps: int, height_px: int) -> ClipSpec:
    """The official clip specification at another rate; heights above 576 stay as they are asked for.

    Raises:
        Misuse: A rate that no video has.
    """
    if not 1 <= fps <= 60:
        raise Misuse(f"the frame rate must lie between 1 and 60, got {fps}")
    return replace(OFFICIAL_CLIP, fps=fps, max_height_px=max(height_px, OFFICIAL_CLIP.max_height_px))


def write_clip(
    scene: Scene,
    *,
    plain: str | Path | None = None,
    overlayed: str | Path | None = None,
    spec: ClipSpec = OFFICIAL_CLIP,
    start_s: float = 0.0,
    end_s: float | None = None,
    step: Callable[[int], None] | None = None,
) -> int:
    """Paint and encode a scene; frame n shows `start_s + n / fps`. Returns the number of frames.

    Args:
        scene: What to record.
        plain: Where the video without a clock goes.
        overlayed: Where the video with a burned-in clock goes.
        spec: The encoding; its rate is the rate of the video clip.
        start_s: Where the video clip starts.
        end_s: Where it ends; the end of the scene when None.
        step: Called after every second.
    """
    if plain is None and overlayed is None:
        raise Misuse("name a file for the plain video clip, the overlayed video clip or both")
    end_s = float(scene.duration_s) if end_s is None else end_s
    times = start_s + np.arange(round((end_s - start_s) * spec.fps)) / spec.fps
    width, height = spec.size_for(scene.width_px, scene.height_px)
    targets = [(path, clock) for path, clock in ((plain, False), (overlayed, True)) if path is not None]
    with ExitStack() as files:
        writers = [(files.enter_context(clip_writer(path, width, height, spec)), clock) for path, clock in targets]
        for number, picture in enumerate(Renderer(scene).frames(times)):
            pixels = _yuv(picture, width, height)
            for writer, clock in writers:
                if clock:
                    burn_clock(*planes_of(pixels, width, height), float(times[number]))
                writer.write(pyav().VideoFrame.from_ndarray(pixels, format="yuv420p"))
            if step and (number + 1) % spec.fps == 0:
                step(1)
    return len(times)


def _yuv(picture: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    frame = pyav().VideoFrame.from_ndarray(picture, format="rgb24")
    return cast(NDArray[np.uint8], converted(frame, "yuv420p", width_px=width, height_px=height).to_ndarray())
