"""Images of the demo: the frame of every question of the FRAME track, and a short video to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import as_completed
from pathlib import Path

from surgvalid.cli._demo.chain import CLIP_S, Demo, Step
from surgvalid.questions.benchmark import Benchmark
from surgvalid.schema.questions.questions import Request
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.simulate import Simulation, all_cores, interrupts_held, worker_pool, write_clip
from surgvalid.video.images import write_png


def paint(demo: Demo, simulation: Simulation, made: Benchmark, step: Step) -> Path:
    """Paint on every core and return the folder of frames; `step` is called for every procedure and video file."""
    frames, video_files = demo.folder / "submission" / "input" / "frames", demo.folder / "procedures" / "videos"
    for folder in (frames, video_files):
        folder.mkdir(parents=True, exist_ok=True)
    wanted = _by_video(q.request for q in made.questions if (q.split, q.track) == ("test", "frame"))
    scenes = [(number, scene) for number, scene in enumerate(simulation.scenes()) if scene.video in wanted]
    with worker_pool(all_cores()) as pool:
        with interrupts_held():
            jobs = [pool.submit(_video_file, simulation, number, video_files) for number, _ in scenes[:1]]
            jobs += [pool.submit(_frames, simulation, number, wanted[scene.video], frames) for number, scene in scenes]
        for job in as_completed(jobs):
            job.result()
            step(1)
    return frames


def pieces(made: Benchmark) -> int:
    """How often `paint` calls its step."""
    return 1 + len({q.request.video for q in made.questions if (q.split, q.track) == ("test", "frame")})


def _by_video(requests: Iterable[Request]) -> dict[str, list[Request]]:
    by_video: dict[str, list[Request]] = {}
    for request in requests:
        by_video.setdefault(request.video, []).append(request)
    return by_video


def _video_file(simulation: Simulation, number: int, folder: Path) -> None:
    scene = simulation.scene(number)
    write_clip(scene, plain=folder / f"{scene.video}.mp4", end_s=CLIP_S)


def _frames(simulation: Simulation, number: int, requests: Sequence[Request], folder: Path) -> None:
    """The image at the second that each question asks about."""
    times = sorted({request.start_s for request in requests})
    painter = Renderer(simulation.scene(number))
    for time_s, picture in zip(times, painter.frames(times), strict=True):
        for request in requests:
            if request.start_s == time_s:
                write_png(picture, folder / f"{request.case}.png")
