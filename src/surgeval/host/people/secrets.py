"""Secrets that are shown once and stored as digests: invitations, tokens of the command line, browser marks."""

from __future__ import annotations

import hashlib
import secrets


def new_secret() -> str:
    """A fresh secret of 256 bits that fits into an address."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored instead of it; a plain hash is enough, because the secret cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()
