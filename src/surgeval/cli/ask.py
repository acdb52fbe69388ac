"""`surgeval ask`: put the questions of the challenge to a model and keep its answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from surgeval.cli import _options as o
from surgeval.cli._console import asking_line, emit, emit_json, new_folder, talk
from surgeval.cli._deliver import deliver, manifest_path
from surgeval.errors import Misuse, WouldOverwrite
from surgeval.schema.shown_text import without_secrets


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("ask", help="Ask a model questions about videos and write its answers.")(ask)


def ask(
    model: o.ModelSpec,
    requests: o.Requests,
    videos: Path = typer.Option(
        ..., "--videos", help="Folder with films named as the videos, or pictures named as the questions."
    ),
    track: str = typer.Option(..., "--track", help="frame, segment or procedure; decides what is shown."),
    definitions: Path | None = typer.Option(
        None, "--definitions", help="Text that is shown before every question, such as foreign-object definitions."
    ),
    frames: int | None = typer.Option(None, "--frames", min=1, help="Frames per question; by track 1, 16 or 32."),
    media: str = typer.Option("auto", "--media", help="frames, video, or auto: video for models that take a span."),
    prompts: str | None = typer.Option(
        None, "--prompts", help="Published prompts by name (frontier-1), or a .toml with others."
    ),
    max_tokens: int = typer.Option(256, "--max-tokens", min=1, help="Room for an answer."),
    model_option: o.ModelOption = [],
    send_media_to: o.SendMediaTo = [],
    max_cost: o.MaxCost = None,
    dry_run: o.DryRun = False,
    store: o.AnswerStore = o.STORE,
    out: Path | None = typer.Option(
        None, "--out", help="A .json for the answer file alone, or a folder for everything, with a manifest."
    ),
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Ask a model; exit 1 where it answered nothing."""
    from surgeval.models import ask as run
    from surgeval.models import estimate_ask, open_model, options_from

    _check_out(out, force=force)
    options = options_from(model_option)
    asked: dict[str, Any] = {
        "videos": videos, "track": track, "definitions": definitions, "frames": frames, "media": media,
        "prompts": prompts, "max_tokens": max_tokens, "store": store,
    }  # fmt: skip
    host = open_model(model, **options).host
    if dry_run:
        estimate = estimate_ask(model, requests, **asked, **options)
        emit_json(estimate.as_dict()) if json else emit("\n".join(estimate.lines()))
        if host is not None:
            talk(f"images or video would be sent to {host}")
        return
    agreed = [*send_media_to, *([host] if host is not None and agreed_at_terminal(host, send_media_to) else [])]
    try:
        with asking_line(f"asking {without_secrets(model)}") as meter:
            result = run(model, requests, **asked, max_cost=max_cost, send_media_to=agreed, progress=meter, **options)
    except KeyboardInterrupt:
        talk(f"interrupted after {meter.line()}; answers are kept in {store}: run again to go on")
        raise typer.Exit(130) from None
    if out is not None and out.suffix.lower() == ".json":
        from surgeval.results.manifest import write_manifest

        result.to_answers(out)
        write_manifest(manifest_path(out), result.manifest({out.name: out}))
        talk(f"written to {out}")
        deliver(result, out=None, as_json=json)
    else:
        deliver(result, out=out, as_json=json, force=force)
    if result.counts is not None and result.counts.all_failed:
        raise typer.Exit(1)


def agreed_at_terminal(host: str, send_media_to: list[str]) -> bool:
    """Whether a person at the terminal agrees that images go to a host; nobody is asked where nobody is there."""
    if host.lower() in {name.strip().lower() for name in send_media_to} or not sys.stdin.isatty():
        return False
    return typer.confirm(f"Images or video of patients would be sent to {host}. Is that allowed for these data?")


def _check_out(out: Path | None, *, force: bool) -> None:
    """Refuse a place that is taken, before anything is asked."""
    if out is None:
        return
    if out.suffix.lower() != ".json":
        new_folder(out, force=force)
        return
    if not out.parent.is_dir():
        raise Misuse(f"--out {out}: folder {out.parent} does not exist")
    for path in (out, manifest_path(out)):
        if path.exists() and not force:
            raise WouldOverwrite(path)
