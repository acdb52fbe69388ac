"""Images of patients leave this machine only for a place that somebody has named."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence

from surgeval.errors import Misuse
from surgeval.models._model import Model


def is_here(host: str) -> bool:
    """Whether a host name is this machine.

    Example:
        >>> is_here("localhost"), is_here("127.0.0.2"), is_here("[::1]"), is_here("10.0.0.7"), is_here("localhost.org")
        (True, True, True, False, False)
    """
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_consent(
    models: Iterable[Model], send_media_to: Sequence[str] = (), *, ask: Callable[[str], bool] | None = None
) -> list[str]:
    """The hosts that media will go to, each agreed to.

    Args:
        models: Who will be shown media.
        send_media_to: Hosts that somebody has agreed to.
        ask: Asks a person about a host that nobody has named, once; without one it is refused.

    Raises:
        Misuse: Media would go to a host that nobody agreed to.
    """
    agreed = {host.strip().lower() for host in send_media_to}
    hosts = list(dict.fromkeys(model.host.lower() for model in models if model.host is not None))
    open_ones = [host for host in hosts if host not in agreed and not (ask is not None and ask(host))]
    if open_ones:
        named = ", ".join(open_ones)
        option = " ".join(f"--send-media-to {host}" for host in open_ones)
        raise Misuse(
            f"images or video would be sent to {named}, which is not this machine; if that is allowed for these data, "
            f"say so with {option} (send_media_to=)"
        )
    return hosts
