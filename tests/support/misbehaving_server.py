"""A chat server that misbehaves in every way that we know of, each with what it is for whoever asked.

reply     the model's reply, however odd
refused   the model or a filter before it declined
case      this question failed, the next one may be answered
server    the server failed: the run is not finished
"""

from __future__ import annotations

import gzip
import json
from typing import Any

from fake_server import Answer, completion

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GOOD = completion("yes").body


def _choice(**choice: Any) -> Answer:
    return Answer(json.dumps({"choices": [choice]}).encode())


def _raw(content: bytes) -> Answer:
    return Answer(content, raw=True)


def _with(**fields: Any) -> Answer:
    return Answer(json.dumps(json.loads(GOOD) | fields).encode())


def _framed(body: bytes, *headers: bytes) -> Answer:
    return _raw(HEAD + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body)


_LENGTH = b"Content-Length: %d" % len(GOOD)
_CASE = {400: "case", 405: "case", 410: "case", 413: "case", 415: "case", 418: "case", 422: "case", 451: "case"}
_SERVER = (401, 402, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 520, 529, 301, 302, 307, 308)

WAYS: dict[str, tuple[Answer, str]] = {
    **{f"HTTP {status}": (Answer(b"no", status), kind) for status, kind in _CASE.items()},
    **{f"HTTP {status}": (Answer(b"no", status), "server") for status in _SERVER},
    "quota as 429": (Answer(b'{"error": {"code": "insufficient_quota"}}', 429), "server"),
    "credit as 400": (Answer(b"Your credit balance is too low", 400), "server"),
    "unknown model as 400": (Answer(b'{"error": {"code": "model_not_found"}}', 400), "server"),
    "context as 400": (Answer(b"maximum context length is 4096", 400), "case"),
    "filter as 400": (Answer(b'{"error": {"code": "content_filter"}}', 400), "refused"),
    "nothing": (Answer(b""), "server"),
    "blanks": (Answer(b" \n "), "server"),
    "a web page": (Answer(b"<html>busy</html>"), "server"),
    "null": (Answer(b"null"), "server"),
    "a number": (Answer(b"7"), "server"),
    "a text": (Answer(b'"yes"'), "server"),
    "a list": (Answer(b"[]"), "server"),
    "an empty object": (Answer(b"{}"), "server"),
    "cut JSON": (Answer(GOOD[:-9]), "server"),
    "two documents": (Answer(GOOD + GOOD), "server"),
    "endless nesting": (Answer(b"[" * 100_000), "server"),
    "no UTF-8": (Answer(b"\xff\xfe\x00yes"), "server"),
    "a byte order mark": (Answer(b"\xef\xbb\xbf" + GOOD), "reply"),
    "events instead of a document": (Answer(b"data: " + GOOD + b"\n\ndata: [DONE]\n\n"), "server"),
    "an error as success": (Answer(b'{"error": {"message": "overloaded"}}'), "server"),
    "choices null": (Answer(b'{"choices": null}'), "server"),
    "choices an object": (Answer(b'{"choices": {}}'), "server"),
    "no choices": (Answer(b'{"choices": []}'), "server"),
    "a choice of null": (Answer(b'{"choices": [null]}'), "server"),
    "no message": (_choice(finish_reason="stop"), "server"),
    "a message of text": (_choice(message="yes"), "server"),
    "content null": (completion(None), "reply"),
    "content a number": (completion(5), "reply"),
    "content an object": (completion({"text": "yes"}), "reply"),
    "content in blocks": (completion([{"type": "text", "text": "yes"}]), "reply"),
    "content of null blocks": (completion([None, 3]), "reply"),
    "content an image": (completion([{"type": "image_url"}]), "reply"),
    "no content at all": (_choice(message={"role": "assistant"}), "reply"),
    "an empty reply": (completion(""), "reply"),
    "a tool call": (completion(None, tool_calls=[{"type": "function"}], finish="tool_calls"), "reply"),
    "reasoning alone": (completion(None, reasoning_content="Hm."), "reply"),
    "a cut reply": (completion("ye", finish="length"), "reply"),
    "a refusal": (completion(None, refusal="I cannot"), "refused"),
    "a filter": (completion("", finish="content_filter"), "refused"),
    "half a letter": (completion("\ud800 yes"), "reply"),
    "control letters": (completion("\x00\x1b[2Jyes"), "reply"),
    "finish a number": (_choice(message={"content": "yes"}, finish_reason=7), "reply"),
    "another role": (_choice(message={"role": "user", "content": "yes"}), "reply"),
    "usage negative": (_with(usage={"prompt_tokens": -5, "total_tokens": -5}), "reply"),
    "usage in words": (_with(usage={"prompt_tokens": "many"}), "reply"),
    "usage a list": (_with(usage=[1]), "reply"),
    "usage beyond belief": (_with(usage={"prompt_tokens": 10**30}), "reply"),
    "another model": (_with(model="somebody-else"), "reply"),
    "a model of no name": (_with(model={"id": 3}), "reply"),
    "a model of two lines": (_with(model="m\nOK: 200"), "reply"),
    "30 MB": (completion("a" * (30 << 20)), "case"),
    "hangs up": (Answer(b"", hang_up=True), "server"),
    "hangs up after the head": (_framed(b"", b"Content-Length: 10"), "server"),
    "hangs up in the middle": (_framed(GOOD[:20], _LENGTH), "server"),
    "claims 30 MB": (_framed(b"{", b"Content-Length: 31457280"), "case"),
    "a negative length": (_framed(GOOD, b"Content-Length: -1"), "server"),
    "a length of words": (_framed(GOOD, b"Content-Length: many"), "server"),
    "no length": (_framed(GOOD), "reply"),
    "chunks": (_framed(b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD), b"Transfer-Encoding: chunked"), "reply"),
    "chunks of no size": (_framed(b"xyz\r\n" + GOOD, b"Transfer-Encoding: chunked"), "server"),
    "chunks without end": (_framed(b"5\r\n{\"a\":\r\n", b"Transfer-Encoding: chunked"), "server"),
    "packed though not asked": (_framed(gzip.compress(GOOD), b"Content-Encoding: gzip"), "server"),
    "no HTTP": (_raw(b"220 smtp ready\r\n\r\n"), "server"),
    "another HTTP": (_raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "server"),
    "an endless head": (_raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000), "server"),
    "a status of words": (_raw(b"HTTP/1.1 fine\r\n\r\n"), "server"),
    "too late": (completion("yes")._replace(delay_s=0.6), "server"),
}  # fmt: skip
