"""Pictures of the demo: the frame of every question of the FRAME track, and a few whole videos to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import as_completed
from pathlib import Path

import numpy as np

from surgeval.cli._demo.chain import FILMS, Demo, Step
from surgeval.questions.benchmark import Benchmark
from surgeval.schema.questions import Request
from surgeval.simulation.film import write_film
from surgeval.simulation.renderer import Renderer
from surgeval.simulation.simulate import Simulation
from surgeval.simulation.workers import all_cores, worker_pool
from surgeval.video.images import write_png


def paint(demo: Demo, simulation: Simulation, made: Benchmark, step: Step) -> Path:
    """Paint on every core and return the folder of frames; `step` is called for every procedure and film."""
    frames, films = demo.folder / "submission" / "input" / "frames", demo.folder / "procedures" / "videos"
    for folder in (frames, films):
        folder.mkdir(parents=True, exist_ok=True)
    wanted = _by_video(q.request for q in made.questions if (q.split, q.track) == ("test", "frame"))
    scenes = [(number, scene) for number, scene in enumerate(simulation.scenes()) if scene.video in wanted]
    shortest = sorted(scenes, key=lambda pair: pair[1].duration_s)[:FILMS]
    with worker_pool(all_cores()) as pool:
        jobs = [pool.submit(_film, simulation, number, films) for number, _ in shortest]
        jobs += [pool.submit(_frames, simulation, number, wanted[scene.video], frames) for number, scene in scenes]
        for job in as_completed(jobs):
            job.result()
            step(1)
    return frames


def pieces(made: Benchmark) -> int:
    """How often `paint` calls its step."""
    return FILMS + len({q.request.video for q in made.questions if (q.split, q.track) == ("test", "frame")})


def _by_video(requests: Iterable[Request]) -> dict[str, list[Request]]:
    by_video: dict[str, list[Request]] = {}
    for request in requests:
        by_video.setdefault(request.video, []).append(request)
    return by_video


def _film(simulation: Simulation, number: int, folder: Path) -> None:
    scene = simulation.scene(number)
    write_film(scene, plain=folder / f"{scene.video}.mp4")


def _frames(simulation: Simulation, number: int, requests: Sequence[Request], folder: Path) -> None:
    """The picture at the second that each question asks about."""
    times = sorted({request.start_s for request in requests})
    painter = Renderer(simulation.scene(number))
    for time_s, picture in zip(times, painter.frames(times), strict=True):
        rgb = np.ascontiguousarray(picture[..., :3])
        for request in requests:
            if request.start_s == time_s:
                write_png(rgb, folder / f"{request.case}.png")
