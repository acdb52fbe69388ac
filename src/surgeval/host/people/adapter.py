"""How allauth treats our accounts: e-mail addresses as they are, and only safe places to go next."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from surgeval.host.people.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Accounts of this service."""

    def populate_username(self, request: HttpRequest, user: User) -> None:
        """Nothing; there are no user names."""

    def format_email_subject(self, subject: str) -> str:
        """The subject, with the name of the challenge before it."""
        from surgeval.host.pages.site import challenge_name  # reads the challenge, which this app does not

        return f"[{challenge_name()}] {subject}"

    def clean_email(self, email: str) -> str:
        """The address in small letters: two spellings are one account."""
        return str(super().clean_email(email)).lower()
