"""Eight runs at once on one engine, their hosts killed at random: every outcome is that of a run alone.

    make test-slow, or: pytest tests/slow/test_many_runs_at_once.py

The runs share an engine and, where there is one, an image. Each host is killed some times at random moments and started
again until it ends by itself. The program crashes on some questions and answers garbage to others, at once.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile_programs import raw
from sandbox_engines import ENGINES
from submission_places import Place, containers, submission_place
from submission_runs import events, outcomes, records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.plan import PlanState

pytestmark = pytest.mark.slow
RUNS, KILLS, QUESTIONS, VIDEOS = 8, 3, 12, 3
HOST = """
import pickle, sys
from surgvalid.asking.driver import run_tasks
from surgvalid.sandbox import open_engine
name, told = pickle.loads(open(sys.argv[1], "rb").read())
run_tasks(engine=open_engine(name), **told)
"""
BODY = """
number = int(question['question'].split()[1].strip('?'))
if number % 5 == 1: os._exit(3)
if number % 5 == 3: reply(connection, b'garbage')
else: reply(connection, good.replace(b'yes', b'%d' % number))
"""


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with submission_place(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


def test_eight_runs_at_once_with_random_kills_end_as_one_alone(place: Place, tmp_path: Path) -> None:
    entrant = place.entrant(raw(tmp_path / "programs", BODY.strip()))
    asked = tasks(tmp_path / "media", QUESTIONS, VIDEOS)
    calm = rules(state=PlanState.PER_VIDEO, budget_s=120.0, health_s=60.0, start_up_s=300.0, stop_s=0.3)
    run_tasks(asked, engine=place.engine, entrant=entrant, rules=calm, out=tmp_path / "alone")
    alone = {case: (record.outcome.value, record.content) for case, record in records(tmp_path / "alone").items()}
    assert {outcome for outcome, _ in alone.values()} == {"ok", "invalid", "crashed"}
    hosts = {}
    for number in range(RUNS):
        told = {"tasks": asked, "entrant": entrant, "rules": calm, "out": tmp_path / f"run-{number}"}
        (tmp_path / f"told-{number}").write_bytes(pickle.dumps((place.engine.name, told)))
        hosts[number] = _host(tmp_path, number)
    kills = _killed_at_random(tmp_path, hosts, random.Random(7))
    for number, host in hosts.items():
        assert host.wait(600) == 0, (number, (tmp_path / f"log-{number}").read_text()[-2000:])
        found = records(tmp_path / f"run-{number}")
        assert {case: (one.outcome.value, one.content) for case, one in found.items()} == alone, outcomes(found)
    assert kills >= RUNS
    place.engine.sweep()
    if place.engine.takes_images:
        ours = {e["id"] for n in range(RUNS) for e in events(tmp_path / f"run-{n}") if e["event"] == "started"}
        assert not ours & containers(place.engine.name)
    print(json.dumps({"engine": place.engine.name, "runs": RUNS, "kills": kills, "questions": RUNS * QUESTIONS}))


def _host(folder: Path, number: int) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open(folder / f"log-{number}", "ab") as log:
        return subprocess.Popen([sys.executable, "-c", HOST, str(folder / f"told-{number}")], env=env, stderr=log)


def _killed_at_random(folder: Path, hosts: dict[int, subprocess.Popen[bytes]], chance: random.Random) -> int:
    """How many hosts were killed while they worked, each started again at once."""
    kills = 0
    for _ in range(KILLS):
        for number in chance.sample(sorted(hosts), len(hosts)):
            time.sleep(chance.uniform(0.1, 0.8))
            if hosts[number].poll() is None:
                hosts[number].kill()
                hosts[number].wait()
                kills += 1
                hosts[number] = _host(folder, number)
    return kills
