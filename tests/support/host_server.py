"""A real server on loopback for tests, participants of the example, and workers that are called step by step."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import connections

from host_service import Service
from image_archives import archive, config_bytes, docker_members, entry, folder, layer
from surgvalid.host.acts import tokens
from surgvalid.host.challenge.example import ENTRANT
from surgvalid.host.client import Host
from surgvalid.host.people.models import Team
from surgvalid.host.service import server_at
from surgvalid.host.worker import WorkerOptions, work
from surgvalid.submissions import serve as serve_module


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that runs in a thread of this process."""
    connections.settings["default"]["CONN_MAX_AGE"] = 0  # its threads leave none behind that nobody closes
    server = server_at("127.0.0.1", 0, threads=4)

    def run() -> None:
        with suppress(OSError, ValueError):  # its sockets are closed below while it still looks at them
            server.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()
        thread.join(5)
        for channel in [*server.active_channels.values()]:  # of browsers that kept their connection
            channel.handle_close()
        server.task_dispatcher.shutdown(timeout=2)
        connections.close_all()


def entrant(place: Path, name: str, skill: float) -> tuple[str, ...]:
    """The command of a program of the example that is right so often."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(sys.modules["surgvalid.submissions.serve"].__file__ or serve_module.__file__, place / "serve.py")
    (place / "app.py").write_text(ENTRANT.replace("{skill}", str(skill)).replace("{name}", name))
    return sys.executable, str(place / "app.py")


def tiny_image(path: Path, unique: str) -> Path:
    """An archive that intake lets in, and that nobody runs."""
    layers = [layer([folder("app"), entry("app/name", unique.encode())])]

    def change(config: dict[str, Any]) -> None:
        config["config"] = {"User": "65534:65534", "Env": ["PATH=/bin"], "Entrypoint": ["/bin/true"]}

    return archive(path, docker_members(layers, config=config_bytes(layers, change), tags=("mine:1",)))


class Crew:
    """Workers with their tokens, each called to do what waits."""

    def __init__(self, service: Service, url: str, scratch: Path) -> None:
        self.service, self.url, self.scratch = service, url, scratch
        self.texts = {
            duty: tokens.make_worker_token("system", f"crew-{duty}", duties)[1]
            for duty, duties in (("inference", ["inference"]), ("scoring", ["intake", "scoring", "board"]))
        }

    def trusted(self, most: int = 20) -> int:
        """Intake, scoring and leaderboards."""
        options = WorkerOptions(scratch=self.scratch / "trusted", challenge=self.service.home, replicates=50)
        return work(self.host("scoring"), options, most_jobs=most)

    def inference(self, *, most: int = 20, **how: Any) -> int:
        return work(self.host("inference"), WorkerOptions(scratch=self.scratch / "gpu", **how), most_jobs=most)

    def host(self, duty: str) -> Host:
        return Host(self.url, self.texts[duty], patience_s=5)


def pusher(url: str, team: Team) -> Host:
    """The team's leader, by a token."""
    return Host(url, tokens.make_access_token("system", team.leader, "laptop")[1], patience_s=5)
