"""What persons see: pages for visitors, teams and organisers. Each is a row of `table`, with who may open it."""

__all__ = [
    "accounts",
    "answers",
    "boards",
    "forms",
    "history",
    "markdown",
    "next_step",
    "organise",
    "permissions",
    "planning",
    "public",
    "publishing",
    "refusals",
    "site",
    "submissions",
    "table",
    "team",
    "words",
    "workers",
]
