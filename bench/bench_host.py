"""The web service on loopback: the leaderboard under many viewers, many uploads at once, a large database, and claims.

`python -m bench host`. SURGVALID_BENCH_UPLOAD_MB is the size of each of the 100 uploads: 20 by default, 200 for the
real thing, which takes 20 GB of disk meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from bench.harness import Row, cpu_seconds

TEAMS, SUBMISSIONS, VIEWERS, UPLOADS = 1_000, 10_000, 500, 100
UPLOAD_MB = int(os.environ.get("SURGVALID_BENCH_UPLOAD_MB", "20"))
PROMISED_S = 0.15
PRE, BOARD = "pre-evaluation", "/boards/pre-evaluation/technical/"
PAGES = (
    ("", "/"), ("", BOARD), ("", f"{BOARD}table.csv"), ("member", BOARD), ("member", "/team/"), ("member", "/submit/"),
    ("member", "/api/standing"), ("member", "/api/submissions"), ("owner", "/organise/"),
    ("owner", "/organise/submissions/"), ("owner", "/organise/teams/"), ("owner", "/organise/gate/"),
    ("owner", "/organise/flags/"), ("owner", "/organise/boards/1/"), ("owner", "/organise/log/"),
)  # fmt: skip
PLAIN = """
from django.conf import settings
settings.configure(ROOT_URLCONF="__main__", ALLOWED_HOSTS=["127.0.0.1"], MIDDLEWARE=[], SECRET_KEY="bench")
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path
from waitress import create_server
urlpatterns = [path("boards/pre-evaluation/technical/", lambda request: HttpResponse("<p>Nothing.</p>"))]
server = create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=8, connection_limit=2000,
                       asyncore_use_poll=True)
print(f"http://127.0.0.1:{server.effective_port}", flush=True)
server.run()
"""
"""A page of Django that does nothing, behind the same server with as many threads: what the machine can do at all."""


def rows() -> list[Row]:
    try:
        import django  # noqa: F401
    except ImportError:
        return [Row("host: everything", float("nan"), "-", None, note="not measured: the extra host is not installed")]
    with TemporaryDirectory(prefix="surgvalid-bench-host-") as name:
        return list(_measured(Path(name)))


def _measured(home: Path) -> Iterator[Row]:
    from surgvalid.host import service
    from surgvalid.host.challenge.example import new_challenge

    new_challenge(home, start=datetime.now() - timedelta(days=1), videos=4)
    service.set_up(home)
    service.migrate()
    service.adopt("bench")
    _fill()
    yield from _pages()
    yield _claims()
    serve = ["-m", "surgvalid", "host", "serve", "--challenge", str(home), "--port", "0"]
    with _server("-c", PLAIN) as (url, pid):
        plain = _viewers(url, pid)
    with _server(*serve) as (url, pid):
        ours = _viewers(url, pid)
    note = f"{VIEWERS} at once: {ours.said}; the plain page {plain.said}"
    yield Row(f"host: leaderboard for {VIEWERS} viewers", ours.cpu_s, "plain Django page", plain.cpu_s, note=note)
    yield from _watched(home)
    with _server(*serve) as (url, pid):
        yield _uploads(url, pid)


def _fill() -> None:
    """A thousand teams, ten thousand submissions, and a leaderboard with everybody on it."""
    from allauth.account.models import EmailAddress

    from surgvalid.host.people.models import Membership, Team, User
    from surgvalid.host.people.rules import accept_terms, rules_now
    from surgvalid.host.runs.models import (
        BoardSnapshot,
        ChallengeVersion,
        Publication,
        QuotaGrant,
        Submission,
        Upload,
    )

    at, version = datetime.now(UTC), ChallengeVersion.objects.latest("number")
    users = User.objects.bulk_create(
        [User(email=f"u{n}@example.org", name=f"U{n}", country="DE") for n in range(TEAMS)]
    )
    teams = Team.objects.bulk_create([Team(name=f"Team {n}", leader=user) for n, user in enumerate(users)])
    Membership.objects.bulk_create([Membership(user=user, team=team) for user, team in zip(users, teams, strict=True)])
    for user, team in zip(users[:UPLOADS], teams, strict=False):  # those who upload may hand something in
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        accept_terms(user, rules_now())
        QuotaGrant.objects.create(team=team, phase=PRE, scored=1, attempts=1, reason="bench", at=at)
    images = Upload.objects.bulk_create([
        Upload(key=f"{n:032x}", team=teams[n % TEAMS], phase=PRE, name="image.tar", size_bytes=1, digest="0" * 64,
               announced_at=at, received_at=at)
        for n in range(SUBMISSIONS)
    ])  # fmt: skip
    Submission.objects.bulk_create([
        Submission(team=teams[n % TEAMS], phase=PRE, version=version, rules={}, image=image, at=at, stage_at=at,
                   stage="scored", values={"technical": n / SUBMISSIONS, "clinical": 0.5})
        for n, image in enumerate(images)
    ])  # fmt: skip
    places = [
        {"model": f"team-{team.pk}", "place": n + 1, "baseline": False, "copeland": -n, "macro_accuracy": 1 - n / TEAMS,
         "board": "technical", "dominated": 0, "dominated_by": n, "win_rate": None}
        for n, team in enumerate(teams)
    ]  # fmt: skip
    stability = [
        {"model": row["model"], "board": "technical", "place_low": 1.0, "place_high": 1.0 * TEAMS, "p_first": 0.001,
         "p_top3": 0.003}
        for row in places
    ]  # fmt: skip
    summary = [
        {"model": row["model"], "macro_low": 0.95 - n / TEAMS, "macro_high": 1.05 - n / TEAMS}
        for n, row in enumerate(places)
    ]
    snapshot = BoardSnapshot.objects.create(
        phase=PRE, board="technical", number=1, at=at, version=version,
        rule={"rule": "focus", "program": "bench", "options": {}, "baselines": [], "unpaid": {}, "prize_pool": None},
        inputs={}, tables={"places": places, "stability": stability, "summary": summary},
        log_number=0, log_digest="0" * 64, digest="0" * 64,
    )  # fmt: skip
    Publication.objects.create(snapshot=snapshot, published_at=at)


def _pages() -> Iterator[Row]:
    """CPU for one page with everything in the database, against a page of Django that does nothing."""
    from django.conf import settings
    from django.db import connection
    from django.http import HttpRequest, HttpResponse
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import path

    from surgvalid.host import urls
    from surgvalid.host.people.acts import give_role
    from surgvalid.host.people.models import MemberRole, User

    def plain(_: HttpRequest) -> HttpResponse:
        return HttpResponse("<p>Nothing.</p>")

    settings.ORGANISERS_NEED_SECOND_FACTOR = False
    urls.urlpatterns.append(path("bench-plain/", plain))
    people = {"member": User.objects.order_by("pk")[0], "owner": User.objects.order_by("-pk")[0]}
    give_role(people["owner"], MemberRole.OWNER, by=None)
    clients = {name: Client(headers={"host": "127.0.0.1"}) for name in ("", *people)}
    for name, user in people.items():
        clients[name].force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")

    def repeated(client: Client, address: str) -> Callable[[], object]:
        return lambda: [client.get(address) for _ in range(5)]

    peer_s = cpu_seconds(repeated(clients[""], "/bench-plain/")) / 5
    for who, address in PAGES:
        client = clients[who]
        status = client.get(address).status_code
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        count = len(queries)  # now: the next request forgets them
        ours_s = cpu_seconds(repeated(client, address)) / 5
        kept = "kept" if ours_s < PROMISED_S else "NOT kept"
        note = f"{TEAMS:,} teams, {SUBMISSIONS:,} submissions; {count} queries; status {status}; "
        note += f"promised: below {PROMISED_S:g} s; {kept}"
        yield Row(f"host: page {address} for {who or 'everybody'}", ours_s, "plain Django page", peer_s, note=note)


def _claims() -> Row:
    from surgvalid.host.acts import jobs, tokens
    from surgvalid.host.runs.models import Job

    worker = tokens.make_worker_token("system", "bench", ["intake"])[0]
    at = datetime.now(UTC)
    Job.objects.bulk_create([
        Job(kind="intake", phase=PRE, owner=f"team-{n % TEAMS}", made_at=at) for n in range(SUBMISSIONS)
    ])  # fmt: skip
    ours_s = cpu_seconds(lambda: [jobs.claim(worker) for _ in range(10)], repeat=2) / 10
    Job.objects.all().delete()
    return Row("host: claim a job", ours_s, "-", None, note=f"of {SUBMISSIONS:,} that wait, in fair order and logged")


@contextmanager
def _server(*words: str) -> Iterator[tuple[str, int]]:
    """Address and process of a server that says where it listens."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield str(process.stdout.readline()).strip() if process.stdout else "", process.pid
    finally:
        process.terminate()
        process.wait()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Viewing(NamedTuple):
    """What it is like to look at a page together with many."""

    cpu_s: float
    said: str


def _viewers(url: str, pid: int) -> Viewing:
    """Everybody looks at the leaderboard at once; the server's CPU for each, and how long each waited."""

    def look(_: int) -> float:
        start = time.perf_counter()
        with urlopen(url + BOARD, timeout=3600) as answer:
            answer.read()
        return time.perf_counter() - start

    look(0)
    begun, start = _cpu_s(pid), time.perf_counter()
    with ThreadPoolExecutor(VIEWERS) as pool:
        waits = list(pool.map(look, range(VIEWERS)))
    seconds, cpu_s = time.perf_counter() - start, (_cpu_s(pid) - begun) / VIEWERS
    p95 = statistics.quantiles(waits, n=20)[-1]
    return Viewing(cpu_s, f"{VIEWERS / seconds:.0f} requests/s, p95 {p95:.2f} s of waiting in line, 8 threads")


WATCHED_S, RELOAD_S = 60.0, 30.0
"""How long viewers are watched, and how often each of them looks again, at the table and its picture."""


def _watched(home: Path) -> Iterator[Row]:
    """Two processes, viewers who look again and again with the picture, and an act of an organiser every second.

    First by a queue of the CPU seconds of each request, then really, as far as this machine has room beside the
    viewers.
    """
    from surgvalid.host.acts.challenge import announce

    serve = ["-m", "surgvalid", "host", "serve", "--challenge", str(home), "--port", "0"]
    with _server(*serve) as (url, pid), _server(*serve) as (other, second):
        table, picture, after = (_cpu_of(url, pid, path, act) for path, act in _kinds(announce))
        modelled = _queue((table, picture, after))
        waits, acts, stop = [], 0, time.perf_counter() + WATCHED_S
        begun = _cpu_s(pid) + _cpu_s(second)
        with ThreadPoolExecutor(VIEWERS + 1) as pool:
            looks = [pool.submit(_keep_looking, (url, other)[n % 2], n, stop) for n in range(VIEWERS)]
            while time.perf_counter() < stop:
                announce("system", "bench", "An act.")
                acts += 1
                time.sleep(1)
            for look in looks:
                waits += look.result()
        used = _cpu_s(pid) + _cpu_s(second) - begun
    p95 = statistics.quantiles(waits, n=20)[-1]
    note = (
        f"{TEAMS:,} teams, {VIEWERS} viewers who look every {RELOAD_S:g} s, {acts} acts in {WATCHED_S:g} s, "
        f"2 processes; CPU of the table {1e3 * table:.1f} ms, of the first after an act {1e3 * after:.1f} ms, "
        f"of a picture {1e3 * picture:.1f} ms; p95 by a queue of these {modelled:.2f} s; really {len(waits)} requests, "
        f"p95 {p95:.2f} s with viewers on the same cores, median {statistics.median(waits):.3f} s; "
        f"promised: below 1 s; {'kept' if max(p95, modelled) < 1 else 'NOT kept'}"
    )
    yield Row("host: leaderboard watched by 500 during acts", used / len(waits), "-", None, note=note)


def _kinds(announce: Callable[..., object]) -> list[tuple[str, Callable[[], object]]]:
    nothing = lambda: None  # noqa: E731
    return [(BOARD, nothing), (f"{BOARD}picture.svg", nothing), (BOARD, lambda: announce("system", "bench", "An act."))]


def _cpu_of(url: str, pid: int, path: str, act: Callable[[], object], *, times: int = 40) -> float:
    """CPU seconds of the server for a request, each after an act."""
    urlopen(url + path).read()
    begun = _cpu_s(pid)
    for _ in range(times):
        act()
        urlopen(url + path).read()
    return (_cpu_s(pid) - begun) / times


def _queue(costs: tuple[float, float, float], *, processes: int = 2, seconds: int = 600) -> float:
    """The wait that 95 of 100 requests stay below: viewers come at random, each asks for the table and then for the
    picture, the first table of a process after the act of each second costs more, and a process does one at a time.
    """
    table, picture, after = costs
    draw = random.Random(1)
    arrivals = []
    at = 0.0
    while at < seconds:
        at += draw.expovariate(VIEWERS / RELOAD_S)
        arrivals.append(at)
    free, seen, waits = [0.0] * processes, [-1] * processes, []
    for at in arrivals:
        chosen = draw.randrange(processes)
        for kind in ("table", "picture"):
            cost = picture if kind == "picture" else table
            if kind == "table" and seen[chosen] < int(at):
                cost, seen[chosen] = after, int(at)
            free[chosen] = max(free[chosen], at) + cost
            waits.append(free[chosen] - at)
    return statistics.quantiles(waits, n=20)[-1]


def _keep_looking(url: str, number: int, stop: float) -> list[float]:
    """How long a viewer waited for each table and picture; one asks only about a picture that one has."""
    draw, waits, marks = random.Random(number), [], {BOARD: "", f"{BOARD}picture.svg": ""}
    time.sleep(draw.uniform(0, RELOAD_S))
    while time.perf_counter() < stop:
        for path, mark in marks.items():
            start = time.perf_counter()
            try:
                with urlopen(Request(url + path, headers={"If-None-Match": mark}), timeout=600) as answer:
                    answer.read()
                    marks[path] = answer.headers.get("ETag", "")
            except HTTPError as error:
                if error.code != 304:
                    raise
            waits.append(time.perf_counter() - start)
        time.sleep(draw.expovariate(1 / RELOAD_S))
    return waits


def _uploads(url: str, pid: int) -> Row:
    """Uploads at once, in pieces; the largest memory that the server ever held."""
    from surgvalid.host.acts import tokens
    from surgvalid.host.client import Host, push_file
    from surgvalid.host.people.models import User

    size = UPLOAD_MB << 20
    texts = [tokens.make_access_token("system", user, "bench")[1] for user in User.objects.order_by("pk")[:UPLOADS]]
    digests = set()
    with TemporaryDirectory(prefix="surgvalid-bench-upload-") as name:
        file = Path(name) / "image.tar"
        file.write_bytes(hashlib.sha256(b"bench").digest() * (size // 32))
        begun, lock = _cpu_s(pid), threading.Lock()

        def push(text: str) -> None:
            key = push_file(Host(url, text), file, phase=PRE, name="image.tar")
            with lock:
                digests.add(key)

        with ThreadPoolExecutor(UPLOADS) as pool:
            list(pool.map(push, texts))
    mark = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    note = f"{len(digests)} at once of {UPLOAD_MB} MB each; the server held at most {int(mark.split()[1]) // 1024} MB"
    return Row("host: upload", (_cpu_s(pid) - begun) / UPLOADS, "-", None, note=note)
