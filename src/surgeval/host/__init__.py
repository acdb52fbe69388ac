"""Host a challenge: people, submissions, runs, boards, gate and prizes as a web service (extra `host`).

Nothing of the arithmetic or of the file formats is here: submissions are run by `surgeval.submissions`, scored by
`surgeval.scoring`, ranked by `surgeval.stats.ranking`. `challenge` reads the file that a challenge is; `acts` are the
only writers of the tables in `runs`, and each leaves one entry in the log; `api` is what programs speak to; `people`
and `pages` are what persons see. One service hosts one challenge.
"""

__all__ = [
    "acts",
    "api",
    "backups",
    "challenge",
    "client",
    "costs",
    "demo",
    "demo_folder",
    "exports",
    "log",
    "middleware",
    "pages",
    "people",
    "places",
    "runs",
    "service",
    "tars",
    "urls",
    "worker",
]
