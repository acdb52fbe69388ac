"""How allauth treats our accounts: e-mail addresses as they are, and persons of other providers as their token says."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from surgvalid.host.people.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Accounts of this service."""

    def populate_username(self, request: HttpRequest, user: User) -> None:
        """Nothing; there are no user names."""

    def format_email_subject(self, subject: str) -> str:
        """The subject, with the name of the challenge before it."""
        from surgvalid.host.pages.site import challenge_name  # reads the challenge, which this app does not

        return f"[{challenge_name()}] {subject}"

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Wrong passwords count for an address from one network: nobody shuts the owner out from elsewhere."""
        place = ip_address(self.get_client_ip(request))
        network = ip_network(f"{place}/{64 if place.version == 6 else 32}", strict=False)
        return f"{super()._get_login_attempts_cache_key(request, **credentials)}:{network}"

    def clean_email(self, email: str) -> str:
        """The address in small letters: two spellings are one account."""
        return str(super().clean_email(email)).lower()


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Accounts of providers of OpenID Connect."""

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Nothing where token and profile are of one person (OpenID Connect Core 5.3.2); refused otherwise."""
        super().pre_social_login(request, sociallogin)
        claims = sociallogin.account.extra_data
        token, profile = claims.get("id_token", {}), claims.get("userinfo")
        if profile is not None and token.get("sub") != profile.get("sub"):
            raise PermissionDenied("The provider spoke of two persons.")
