"""Tables of the challenge, submissions, jobs and leaderboards. Written by `surgvalid.host.acts` alone."""

__all__ = ["models"]
