"""Questions put to a chat server by other clients, in the environment of whoever runs this file.

    python bench/peer_clients.py openai|inspect URL QUESTIONS.json

The file is a list of questions, each a list of `{"text": ...}` and `{"picture": PATH}`. Prints the version of the peer
and its CPU seconds per question (the lesser of two runs after one that is not counted; imports are not counted either).
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AT_ONCE, MOST_TOKENS, RUNS = 16, 128, 3
Questions = list[list[dict[str, str]]]


def by_openai(url: str, questions: Questions) -> tuple[str, Callable[[], None]]:
    """The official client of the protocol, sixteen questions at once."""
    import openai

    def block(part: dict[str, str]) -> dict[str, Any]:
        if "text" in part:
            return {"type": "text", "text": part["text"]}
        data = base64.b64encode(Path(part["picture"]).read_bytes()).decode()
        return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}

    async def run() -> None:
        waiting = iter(questions)
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

            async def some() -> None:
                for parts in waiting:
                    messages: Any = [{"role": "user", "content": [block(part) for part in parts]}]
                    await client.chat.completions.create(model="m", messages=messages, max_tokens=MOST_TOKENS)

            await asyncio.gather(*(some() for _ in range(AT_ONCE)))

    return openai.__version__, lambda: asyncio.run(run())


def by_inspect(url: str, questions: Questions) -> tuple[str, Callable[[], None]]:
    """inspect_ai with its provider for servers of that protocol: generate, no scorer, its log on disk."""
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.solver import generate

    def block(part: dict[str, str]) -> Any:
        return ContentText(text=part["text"]) if "text" in part else ContentImage(image=part["picture"])

    samples = [Sample(input=[ChatMessageUser(content=[block(part) for part in parts])]) for parts in questions]
    settings = GenerateConfig(max_connections=AT_ONCE, max_tokens=MOST_TOKENS, temperature=0)
    model = get_model("openai-api/peer/m", base_url=url, api_key="none", config=settings)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=generate())
            (log,) = inspect_ai.eval(task, model=model, log_dir=folder, display="none", log_images=False)
        answered = 0 if log.results is None else log.results.completed_samples
        assert (log.status, answered) == ("success", len(questions)), log.error and log.error.message

    return inspect_ai.__version__, run


def main() -> None:
    name, url, path = sys.argv[1:]
    questions: Questions = json.loads(Path(path).read_text(encoding="utf-8"))
    version, run = {"openai": by_openai, "inspect": by_inspect}[name](url, questions)
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    print(json.dumps({"version": version, "seconds": min(seconds[1:]) / len(questions)}))


if __name__ == "__main__":
    main()
