"""Start what the command line asks for: the tables, the server, and its folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.host import places


def set_up(folder: str | Path, *, backup: Path | None = None, first: bool = False) -> Path:
    """The folder of a service, whose tables can now be read and written.

    Args:
        folder: Where it is.
        backup: What it will be brought back from, with the key by which its rows are sealed.
        first: Whether an empty folder will do, in which a challenge is made on a page.

    Raises:
        ExtraNeeded: Django is not installed.
        Misuse: There is no challenge in the folder.
    """
    home = Path(folder).resolve()
    begun = first and (
        not home.exists() or {one.name for one in home.iterdir()} <= {*places.DATABASE_FILES, places.KEY, "store"}
    )
    if backup is None and not begun and not (home / places.CHALLENGE).is_file():
        raise Misuse(f"{home} holds no {places.CHALLENGE}; make one with `surgvalid host new {folder}`")
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if backup is not None and (backup / places.KEY).is_file() and not (home / places.KEY).exists():
        shutil.copy2(backup / places.KEY, home)
    if not os.access(home, os.W_OK):
        command = f"chown -R {os.getuid()} {home}"
        raise Misuse(f"{home} cannot be written by this user (number {os.getuid()}); an administrator runs `{command}`")
    os.environ[places.FOLDER] = str(home)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "surgvalid.host.settings")
    try:
        import django
    except ImportError:
        raise ExtraNeeded("surgvalid host", "Django", "host") from None
    django.setup()
    return home


def migrate() -> None:
    """Bring the tables to this version; safe to call again."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)
    os.makedirs(places.store(), mode=0o700, exist_ok=True)


def serve(host: str, port: int, *, threads: int = 8, ready: Callable[[str], None]) -> None:
    """Serve until somebody ends it.

    Large bodies wait on disk and are read piece by piece, so memory does not grow with uploads.

    Args:
        host: The address to listen on; a proxy with TLS stands before any but this machine's own.
        port: 0 takes a free one.
        threads: Requests at once.
        ready: Called with the address, once it listens.
    """
    from surgvalid.host.crew import Crew
    from surgvalid.host.housekeeping import Housekeeping

    spool = places.store() / places.SPOOL
    shutil.rmtree(spool, ignore_errors=True)
    spool.mkdir(parents=True, mode=0o700)
    tempfile.tempdir = str(spool)
    server = server_at(host, port, threads=threads)
    url = f"http://{host}:{server.effective_port}"
    ready(url)
    crew = Crew(_public() or f"http://127.0.0.1:{server.effective_port}")
    try:
        with Housekeeping(crew.keep):
            server.run()
    finally:
        crew.end()


def server_at(host: str, port: int, *, threads: int) -> Any:
    """A server that listens, and keeps of no request more than its address allows."""
    from django.conf import settings
    from waitress import create_server

    from surgvalid.host.bodies import LimitedChannel
    from surgvalid.host.tars import MOST_BYTES
    from surgvalid.host.wsgi import application

    server = create_server(
        application,
        host=host,
        port=port,
        threads=threads,
        max_request_body_size=MOST_BYTES + 1,
        channel_timeout=300,
        connection_limit=2000,
        asyncore_use_poll=True,
        ident=None,
        clear_untrusted_proxy_headers=not settings.PROXIES,  # a proxy of ours says what was asked, and by whom
    )
    server.channel_class = LimitedChannel
    return server


def _public() -> str:
    """Where people reach the service; empty where nobody said so."""
    from django.conf import settings

    return settings.ADDRESS.geturl().rstrip("/") if settings.ADDRESS.hostname else ""


def first_address(url: str) -> str:
    """Where the first owner comes in; empty once there is one."""
    from surgvalid.host.people.acts import first_secret

    return f"{_public() or url}/begin/{secret}/" if (secret := first_secret()) else ""


def adopt(note: str) -> int:
    """The number of the version of the challenge that holds after the file in the folder was adopted."""
    from surgvalid.host.acts.challenge import adopt_challenge

    return int(adopt_challenge("system", note).number)
