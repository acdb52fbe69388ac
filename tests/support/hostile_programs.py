"""Small programs that answer questions well or badly, for tests of the protocol and the driver.

Each is a whole Python script for the process engine. `{serve}` is the path of the starter file, so the good
ones use what participants use; the bad ones speak raw bytes on the socket.
"""

from __future__ import annotations

import sys
from pathlib import Path

import surgvalid.submissions

SERVE = Path(surgvalid.submissions.__file__).parent / "serve.py"

GOOD = """
import importlib.util, os, sys, time
spec = importlib.util.spec_from_file_location("serve", {serve!r})
serve = importlib.util.module_from_spec(spec); spec.loader.exec_module(serve)
state = {{"asked": 0}}
def answer(question):
    state["asked"] += 1
    {body}
{start}
serve.serve(answer, name="test")
"""

RAW = """
import json, os, socket, sys, time
listener = socket.socket(socket.AF_UNIX); listener.bind(os.environ["SURG_SOCKET"]); listener.listen(16)
def head(length, extra=b"", status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\\r\\nContent-Length: " + str(length).encode() + b"\\r\\n" + extra + b"\\r\\n"
def reply(connection, body, **more):
    connection.sendall(head(len(body), **more) + body)
count, earlier = 0, None
while True:
    connection, _ = listener.accept()
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        piece = connection.recv(65536)
        if not piece: break
        data += piece
    if data.startswith(b"GET"):
        reply(connection, b'{{"protocol":"1","name":"raw"}}'); connection.close(); continue
    top, _, body = data.partition(b"\\r\\n\\r\\n")
    length = int(top.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
    while len(body) < length: body += connection.recv(65536)
    question = json.loads(body); count += 1
    good = json.dumps({{"qID": question["qID"], "content": "yes"}}).encode()
    try:
        {body}
    except OSError:
        pass
    earlier = question["qID"]
    connection.close()
"""


def good(folder: Path, body: str = "return 'yes'", start: str = "") -> tuple[str, ...]:
    """The command of a program built on `serve`; `body` is the inside of its `answer(question)`."""
    return _script(folder, GOOD.format(serve=str(SERVE), body=body.replace("\n", "\n    "), start=start))


def raw(folder: Path, body: str) -> tuple[str, ...]:
    """The command of a program that answers with raw bytes: `connection`, `question`, `good`, `count`, `reply`."""
    return _script(folder, RAW.format(body=body.replace("\n", "\n        ")))


def script(folder: Path, text: str) -> tuple[str, ...]:
    """The command that runs this text."""
    return _script(folder, text)


def _script(folder: Path, text: str) -> tuple[str, ...]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"program-{len(list(folder.glob('program-*')))}.py"
    path.write_text(text, encoding="utf-8")
    return (sys.executable, "-S", "-E", str(path))
