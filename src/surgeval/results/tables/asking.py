"""Tables of `surgeval ask`."""

from __future__ import annotations

from surgeval.results.tables.table import Table, number, text, whole, yes_no

OUTCOMES = Table(
    "outcomes", "What became of one question to a model.", "unread",
    case=text, video=text, status=text("answered, refused, unreadable, failed, timed_out, infrastructure or not_asked"),
    trouble=text("refusal, cut, overflow, transient, permanent or budget; empty where all went well", needed=False),
    reason=text("what went wrong, in words", needed=False),
    text=text("what the model said, as it said it", needed=False),
    finish=text("why it stopped, in its server's words", needed=False), seconds=number("until the reply was there"),
    tokens_in=whole, tokens_out=whole, pictures=whole("that it was shown"), reused=yes_no("from the store"),
)  # fmt: skip
ASK = (OUTCOMES,)
