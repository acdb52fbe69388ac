"""Start what the command line asks for: the tables, the server, and its folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.host import places


def set_up(folder: str | Path, *, needs_challenge: bool = True) -> Path:
    """The folder of a service, whose tables can now be read and written.

    Raises:
        ExtraNeeded: Django is not installed.
        Misuse: There is no challenge in the folder.
    """
    home = Path(folder).resolve()
    if needs_challenge and not (home / places.CHALLENGE).is_file():
        raise Misuse(f"{home} holds no {places.CHALLENGE}; make one with `surgvalid host new {folder}`")
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
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
    from django.conf import settings
    from waitress import create_server

    from surgvalid.host.wsgi import application

    server = create_server(
        application,
        host=host,
        port=port,
        threads=threads,
        max_request_body_size=1 << 40,
        channel_timeout=300,
        connection_limit=2000,
        asyncore_use_poll=True,
        ident=None,
        clear_untrusted_proxy_headers=not settings.PROXIES,  # a proxy of ours says what was asked, and by whom
    )
    ready(f"http://{host}:{server.effective_port}")
    server.run()


def adopt(note: str) -> int:
    """The number of the version of the challenge that holds after the file in the folder was adopted."""
    from surgvalid.host.acts.challenge import adopt_challenge

    return int(adopt_challenge("system", note).number)
