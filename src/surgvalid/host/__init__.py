"""Host a challenge: people, submissions, runs, leaderboards, qualification and prizes as a web service (extra `host`).

Nothing of the arithmetic or of the file formats is here: submissions are run by `surgvalid.submissions`, scored by
`surgvalid.scoring`, ranked by `surgvalid.stats.ranking`. `challenge` reads the file that a challenge is; `acts` are the
only writers of the tables in `runs`, and each leaves one entry in the log; `api` is what programs speak to; `people`
and `pages` are what persons see. One service hosts one challenge.
"""

__all__ = [
    "acting",
    "acts",
    "backups",
    "challenge",
    "client",
    "costs",
    "demo",
    "evidence",
    "exports",
    "people",
    "replay",
    "runs",
    "seals",
    "service",
    "worker",
]
