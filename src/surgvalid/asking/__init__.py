"""Whatever asks many things once: a program under protocol "1", a chat server, and what keeps their replies.

Judges and models rest on this subpackage, so it knows neither: questions go out, outcomes come back, and each
is on disk before the next is asked.
"""

__all__ = [
    "chat",
    "cluster",
    "connections",
    "driver",
    "exchange",
    "fingerprint",
    "journal",
    "lines",
    "messages",
    "meter",
    "plan",
    "reading",
    "replies",
    "session",
    "store",
    "store_care",
]
