"""Checks that run with every evaluation: what predictions look like before anybody believes their numbers.

Each check looks at one thing that makes a number meaningless or easy to misread, and says what it saw, and where it can
which change would mend it. A check never changes a number. All of them are listed in `doubt.RULES`.
"""

__all__ = ["sanity_finding"]
