"""What asking a judge costs this side of the wire: CPU per request to a loopback server that answers at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx

from bench.harness import Row, cpu_seconds
from bench.peer_environment import client_seconds
from surgvalid.judges import JudgeCase, Panel, VerdictStore
from surgvalid.judges._prompt import prompt_of
from surgvalid.judges.openai import OpenAIJudge

REQUESTS, PROMISED_S = 2_000, 0.001
SERVER = r"""
import asyncio, json
message = {"role": "assistant", "content": '{"verdict": "CORRECT"}'}
reply = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}}).encode()
answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            await reader.readexactly(length)
            writer.write(answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def rows() -> list[Row]:
    cases = [
        JudgeCase(f"q{i}", "Cholecystectomy", 0.0, 60.0, "Which structure is clipped?", "cystic duct", f"duct {i}")
        for i in range(REQUESTS)
    ]
    with _server() as url, tempfile.TemporaryDirectory() as folder:
        stores = (VerdictStore(Path(folder) / str(i)) for i in range(99))
        ours = _per_request(lambda: Panel([OpenAIJudge("m", url)], store=next(stores)).decide(cases))
        bare = _per_request(lambda: asyncio.run(_bare(url, cases)))
        standard = _per_request(lambda: _standard(url, cases))
        known = VerdictStore(Path(folder) / "known")
        Panel([OpenAIJudge("m", url)], store=known).decide(cases)
        again = _per_request(lambda: Panel([OpenAIJudge("m", url)], store=known).decide(cases))
        texts = [[{"text": message["content"]} for message in prompt_of(case).messages()] for case in cases]
        beside, peer = client_seconds("openai", url, texts)
    note = f"per request of {REQUESTS:,}, stored on disk; promised {PROMISED_S * 1000:g} ms"
    return [
        Row("judge asked over HTTP", ours, beside, peer, note=note),
        Row("judge asked over HTTP, beside the bare HTTP client", ours, "httpx alone", bare, note="the same bodies"),
        Row("judge asked over HTTP, beside a plain connection", ours, "http.client alone", standard, note="one by one"),
        Row("verdict reused from the store", again, "asking", ours, note="per verdict"),
    ]


def _per_request(work: Callable[[], object]) -> float:
    return cpu_seconds(work, repeat=2) / REQUESTS


async def _bare(url: str, cases: list[JudgeCase]) -> None:
    waiting = iter(cases)

    async def some(client: httpx.AsyncClient) -> None:
        for case in waiting:
            body = {"model": "m", "messages": prompt_of(case).messages(), "max_tokens": 128}
            (await client.post(f"{url}/chat/completions", json=body)).json()

    async with httpx.AsyncClient() as client:
        await asyncio.gather(*(some(client) for _ in range(16)))


def _standard(url: str, cases: list[JudgeCase]) -> None:
    host, _, base = url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host)
    for case in cases:
        body = json.dumps({"model": "m", "messages": prompt_of(case).messages(), "max_tokens": 128}).encode()
        connection.request("POST", f"/{base}/chat/completions", body, {"Content-Type": "application/json"})
        json.loads(connection.getresponse().read())
    connection.close()


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()
