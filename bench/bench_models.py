"""What asking a model costs this side of the wire: CPU per request to a loopback server that answers at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.bench_judges import PROMISED_S, REQUESTS, _per_request, _server
from bench.harness import Row, cpu_seconds, peak_memory_mb
from bench.peer_environment import client_seconds
from surgvalid.asking.store import ContentStore
from surgvalid.models import Outcome, Prompt, PromptImage, RunCounts, ask_all, open_model
from surgvalid.models._answers import StoredAnswers, key_of
from surgvalid.schema.outcomes import Status

PICTURE_BYTES, PICTURES, ANSWERED = 50_000, 20, 100_000


def rows() -> list[Row]:
    with _server() as url, tempfile.TemporaryDirectory() as folder:
        pictures = _pictures(Path(folder))
        stores = (Path(folder) / f"store-{number}" for number in range(99))
        ours = _per_request(lambda: _ask(url, pictures, next(stores)))
        text = _per_request(lambda: _ask(url, [], next(stores)))
        same = [[_part(piece) for piece in prompt.parts] for prompt in _prompts(REQUESTS, pictures)]
        peers = [client_seconds(name, url, same) for name in ("openai", "inspect")]
        resumed, memory_mb = _resumed(url, Path(folder) / "answered")
    work, note = "model asked over HTTP with an image", f"per request of {REQUESTS:,}, an image of 50 kB each, stored"
    return [
        Row(work, ours, "the goal itself: 1 ms", PROMISED_S, goal=1, note=note),
        *(Row(f"{work}, beside a client", ours, *peer, note="the same questions, sixteen at once") for peer in peers),
        Row(
            "model asked over HTTP, text only", text, "the goal itself: 1 ms", PROMISED_S, goal=1,
            note=f"per request of {REQUESTS:,}",
        ),
        Row(
            "run of 100,000 answered requests resumed", resumed, "asking them", text * ANSWERED,
            note=f"opening the store included; peak memory {memory_mb:.0f} MB",
        ),
    ]  # fmt: skip


def _part(piece: object) -> dict[str, str]:
    return {"picture": str(piece.path)} if isinstance(piece, PromptImage) else {"text": str(piece)}


def _pictures(folder: Path) -> list[PromptImage]:
    paths = [folder / f"{number}.jpg" for number in range(PICTURES)]
    for path in paths:
        path.write_bytes(b"\xff\xd8\xff" + os.urandom(PICTURE_BYTES - 3))
    return [PromptImage(path, path.name) for path in paths]


def _prompts(count: int, pictures: list[PromptImage]) -> Iterator[Prompt]:
    for number in range(count):
        shown = (pictures[number % PICTURES],) if pictures else ()
        yield Prompt(f"q{number}", (*shown, f"Which instruments are seen in frame {number}?"), max_tokens=128)


def _ask(url: str, pictures: list[PromptImage], store: Path, count: int = REQUESTS) -> RunCounts:
    model = open_model(f"openai:m@{url}")
    counts = ask_all(model, _prompts(count, pictures), done=lambda *_: None, store=store)
    assert counts.answered == count
    return counts


def _resumed(url: str, place: Path) -> tuple[float, float]:
    model = open_model(f"openai:m@{url}")
    with ContentStore(place) as store:
        answers = StoredAnswers(store)
        for prompt in _prompts(ANSWERED, []):
            answers.put(key_of(model, prompt), model, Outcome(Status.ANSWERED, "grasper", tokens_in=900, tokens_out=3))
    seconds = cpu_seconds(lambda: _ask(url, [], place, ANSWERED), repeat=1, warm_up=False)
    return seconds, peak_memory_mb()
