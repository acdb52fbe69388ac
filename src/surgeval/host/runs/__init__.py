"""Tables of the challenge, submissions, jobs and boards. Written by `surgeval.host.acts` alone."""

__all__ = [
    "models",
]
