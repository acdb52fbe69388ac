"""Host overhead per question, start of a session per engine, and memory over ten thousand questions."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx

import surgvalid.submissions
from bench.harness import Row
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.plan import Aliases, AskedTask, AskingRules, PlanState
from surgvalid.asking.session import Participant, Session, Workplace, open_session
from surgvalid.errors import EngineFailed, SurgvalidError
from surgvalid.sandbox import ENGINES, SOCKET_NAME, Engine, Limits, open_engine
from surgvalid.schema.questions.questions import Request
from surgvalid.submissions.results import run_facts

PROMISED_S = 0.002
FEW, MANY = 500, 10_000
APP = "import sys; sys.path.insert(0, {folder!r})\nfrom serve import serve\nserve(lambda question: 'yes')\n"


def rows() -> list[Row]:
    with _folder() as folder:
        found = [_one_exchange(folder)]
        for name in ENGINES:
            try:
                with _ready(name, folder) as engine:
                    found += _driven(folder, engine, MANY if name == "process" else FEW)
            except (SurgvalidError, OSError) as error:
                found.append(Row(f"question through {name}", float("nan"), "2 ms", None, note=f"not measured: {error}"))
        return found


@contextmanager
def _ready(name: str, folder: Path) -> Iterator[Engine]:
    """The engine; docker with a daemon of our own where none answers."""
    with ExitStack() as stack:
        engine = open_engine(name)
        if name == "docker" and engine.available() and shutil.which("dockerd") and os.geteuid() == 0:
            stack.enter_context(_of_tests("sandbox_engines").docker_daemon(folder / "dockerd"))
        if problem := engine.available():
            raise EngineFailed(name, str(problem))
        yield engine


def _of_tests(module: str) -> Any:
    """A module of the test suite, which knows how to make images and daemons without any registry."""
    tests = str(Path(__file__).parents[1] / "tests" / "support")
    if tests not in sys.path:
        sys.path.append(tests)
    return import_module(module)


def _driven(folder: Path, engine: Engine, count: int) -> list[Row]:
    """CPU time of this process per question, everything included: order, names, socket, JSON, journal."""
    clock, memory = _Marks(time.process_time), _Marks(_resident_mb)

    def mark(_: int) -> None:
        clock.add()
        if len(clock.marks) % (count // 10) == 0:
            memory.add()

    out = folder / f"out-{engine.name}"
    rules = AskingRules(state=PlanState.FREE, poll_s=0.02)
    entrant = _entrant(folder, engine)
    try:
        run_tasks(_tasks(folder, count), engine=engine, entrant=entrant, rules=rules, out=out, progress=mark)
    finally:
        if entrant.image:
            engine.forget(entrant.image)
    facts = run_facts(out)
    assert facts.answered == count, facts.outcomes
    per_question = sorted(b - a for a, b in zip(clock.marks, clock.marks[1:], strict=False))
    grown = memory.marks[-1] - memory.marks[1]
    p95_ms = 1000 * per_question[int(0.95 * len(per_question))]
    note = (
        f"{count} questions, median CPU; p95 {p95_ms:.2f} ms; latency p50 {1000 * facts.p50_s:.2f} ms wall; "
        f"memory {memory.marks[-1]:.0f} MB, {grown:+.1f} MB over the last 90 %"
    )
    start_s = facts.engine_s[0] + facts.starts_s[0]
    start = f"wall: {facts.engine_s[0]:.2f} s in the engine, then {facts.starts_s[0]:.2f} s until the program was ready"
    return [
        Row(f"question through {engine.name}", statistics.median(per_question), "2 ms", PROMISED_S, goal=1, note=note),
        Row(f"session start in {engine.name}", start_s, "-", None, note=start),
    ]


def _one_exchange(folder: Path) -> Row:
    """The bare exchange against httpx, both over the same socket, one connection per question."""
    sockets = folder / "s"
    sockets.mkdir()
    place = Workplace(folder / "media", folder, sockets)
    question = Aliases().question(_tasks(folder, 1)[0], AskingRules())
    process = open_engine("process")
    with open_session(process, _entrant(folder, process), AskingRules(poll_s=0.02), place) as session:
        assert session.wait_until_ready().ready
        ours = _median_cpu(lambda: _asked(session, question))
        transport = httpx.HTTPTransport(uds=str(sockets / SOCKET_NAME))
        with httpx.Client(transport=transport, headers={"Connection": "close"}) as client:
            peer = _median_cpu(lambda: client.post("http://x/answer", content=question.as_bytes()).json())
    return Row(
        "one exchange over a Unix socket", ours, "httpx", peer, note="median CPU of the host; ours checks strictly"
    )


def _asked(session: Session, question: object) -> None:
    assert session.ask(question).content == "yes"  # type: ignore[arg-type]


def _median_cpu(work: Callable[[], object]) -> float:
    times = []
    for _ in range(FEW):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


class _Marks:
    def __init__(self, read: Callable[[], float]) -> None:
        self.read, self.marks = read, [read()]

    def add(self) -> None:
        self.marks.append(self.read())


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def _tasks(folder: Path, count: int) -> list[AskedTask]:
    media = [folder / "media" / f"v{number}.mp4" for number in range(20)]
    for path in media:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"video")
    requests = [Request(f"q{i}", f"v{i % 20}", 0.0, 60.0, "p", "Is a sponge visible?") for i in range(count)]
    return [AskedTask(request, media[i % 20]) for i, request in enumerate(requests)]


def _entrant(folder: Path, engine: Engine) -> Participant:
    """The same program in every engine; images are made as the tests make them, from this machine's Python."""
    app = folder / "code"
    app.mkdir(exist_ok=True)
    shutil.copy(Path(surgvalid.submissions.__file__).parent / "serve.py", app / "serve.py")
    inside = str(app) if engine.name == "process" else "/app"
    (app / "app.py").write_text(APP.format(folder=inside))
    if engine.name == "process":
        return Participant(command=(sys.executable, "-S", "-E", str(app / "app.py")), limits=Limits())
    if not engine.takes_images:
        return Participant(command=("/usr/bin/python3", "-S", "-E", "/app/app.py"), code=app)
    archive = _of_tests("python_image").python_archive(folder / "image.tar", app)
    return Participant(image=engine.store(archive))


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sg-bench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
