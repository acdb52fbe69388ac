"""`surgeval simulate`: procedures that anyone can have."""

from __future__ import annotations

from pathlib import Path

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import emit_json, emit_table, new_folder, progress_bar, talk
from surgeval.errors import Misuse


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("simulate")(simulate_verb)


def simulate_verb(
    folder: Path | None = typer.Argument(None, metavar="[DIR]", help="The folder of --out, by its place."),
    out: Path | None = typer.Option(None, help="Folder for annotations, image conditions, videos and the manifest."),
    procedures: int = typer.Option(4, help="How many procedures."),
    seed: o.Seed = 42,
    video: bool = typer.Option(True, "--video/--no-video", help="Paint videos, or write annotations only."),
    minutes: str | None = typer.Option(None, help="Duration: 20, or a range such as 10-45; else usual for the type."),
    fps: int = typer.Option(5, help="Frame rate of the videos; 5 is the official clip specification."),
    height: int = typer.Option(270, help="Height of the picture in pixels; its width follows from 16:9."),
    clock: bool = typer.Option(False, "--clock", help="Write the videos with a burned-in clock as well."),
    masks: bool = typer.Option(False, "--object-masks", help="Write every object's pixels at every second (COCO)."),
    types: list[str] | None = typer.Option(None, "--type", help="Type of procedure to draw from; may be repeated."),
    centers: list[str] | None = typer.Option(None, "--center", help="Centre to draw from; may be repeated."),
    looks: list[str] | None = typer.Option(
        None, "--look", help="Paint roll, fog, soft, depth or blur too, or all; may be repeated. Truth follows."
    ),
    workers: int = typer.Option(0, help="Processes; 0 takes every core. The files are the same for any number."),
    as_json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Simulate procedures with phases, foreign objects, artefacts and, where wanted, video."""
    from surgeval.simulation.simulate import film_spec, simulate
    from surgeval.simulation.workers import all_cores

    place = _place(folder, out)
    simulation = simulate(
        procedures,
        seed=seed,
        types=types or None,
        centers=centers or None,
        minutes=_minutes(minutes),
        width_px=2 * round(height * 8 / 9),
        height_px=height,
        looks=looks or (),
    )
    spec = film_spec(fps, height)
    new_folder(place, force=force)
    total_s = sum(scene.duration_s for scene in simulation.scenes()) if procedures <= 200 else None
    with progress_bar("seconds simulated", total_s) as step:
        table = simulation.to_dir(
            place,
            video=video,
            clock=clock,
            masks=masks,
            spec=spec,
            workers=workers if workers > 0 else all_cores(),
            force=force,
            step=step,
        )
    talk(f"written to {place}")
    if as_json:
        emit_json({"procedures": table.to_dicts()})
    else:
        emit_table(table, title=f"Simulated procedures (seed {seed})")


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
