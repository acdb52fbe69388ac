"""Settings of the web service; what differs between machines comes from the environment.

SURGVALID_HOST            the folder of the service (see `places`)
SURGVALID_HOST_DATABASE   a URL of PostgreSQL; without it SQLite in the folder
SURGVALID_HOST_URL        where people reach it, as https://focus.example.org; https switches every safe cookie on
SURGVALID_HOST_PROXIES    how many proxies stand before it, whose word on scheme and client is taken; 0 without one
SURGVALID_HOST_MAIL       smtp://user:secret@machine:587 (STARTTLS) or smtps://; without it mail goes to the console
SURGVALID_HOST_MAIL_FROM  who it is from
SURGVALID_HOST_OIDC       a JSON file with providers of OpenID Connect, as allauth reads them
SURGVALID_HOST_RESERVE_GB what uploads leave free on the disk, so that scoring goes on (2)
SURGVALID_HOST_METRICS    the token by which /metrics is read; without it there is no such page
SURGVALID_HOST_SECOND_FACTOR   `no`: organisers need no second factor (the demo)
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import surgvalid.report
from surgvalid.host import places

HERE = Path(__file__).parent
ADDRESS = urlsplit(os.environ.get("SURGVALID_HOST_URL", ""))
SECURE = ADDRESS.scheme == "https"
PROXIES = int(os.environ.get("SURGVALID_HOST_PROXIES", "0"))

SECRET_KEY = places.secret_key()
DEBUG = False
ALLOWED_HOSTS = [ADDRESS.hostname] if ADDRESS.hostname else ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{ADDRESS.scheme}://{ADDRESS.netloc}"] if ADDRESS.hostname else []
INSTALLED_APPS = [
    "surgvalid.host.pages",  # before allauth, whose pages it dresses
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",  # its words are on allauth's page of security keys
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "surgvalid.host.people",
    "surgvalid.host.runs",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "surgvalid.host.middleware.HeadersMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "surgvalid.host.middleware.BearerMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "surgvalid.host.middleware.LettersMiddleware",
    "surgvalid.host.middleware.BrowserMiddleware",
]
ROOT_URLCONF = "surgvalid.host.urls"
WSGI_APPLICATION = "surgvalid.host.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-gb"
USE_I18N = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "surgvalid.host.pages.site.site",
            ]
        },
    }
]

STATIC_URL = "static/"
STATICFILES_DIRS = [("report", Path(surgvalid.report.__file__).parent / "assets")]
WHITENOISE_USE_FINDERS = True  # no step that collects files: they are few, and read once at the start
WHITENOISE_MAX_AGE = 3600

AUTH_USER_MODEL = "people.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "surgvalid.host.people.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if SECURE else "http"
ACCOUNT_LOGOUT_REDIRECT_URL = "home"
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True  # who is shut out by others comes in by the mailed link
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not SECURE and not ADDRESS.hostname  # on this machine alone
MFA_TOTP_ISSUER = "surgvalid"
ORGANISERS_NEED_SECOND_FACTOR = os.environ.get("SURGVALID_HOST_SECOND_FACTOR", "yes") != "no"
SOCIALACCOUNT_ADAPTER = "surgvalid.host.people.adapter.ProviderAdapter"
SOCIALACCOUNT_ONLY = False
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False  # an address that a provider names opens nobody's account
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES


def oidc_apps(path: str) -> list[dict[str, Any]]:
    """The providers of OpenID Connect in a file: a list of allauth's APPS; none without one."""
    if not path:
        return []
    apps = json.loads(Path(path).read_text(encoding="utf-8"))
    return [app | {"settings": {"oauth_pkce_enabled": True} | app.get("settings", {})} for app in apps]


OIDC_APPS = oidc_apps(os.environ.get("SURGVALID_HOST_OIDC", ""))
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": OIDC_APPS}}
FORM_TARGETS = tuple("{0.scheme}://{0.netloc}".format(urlsplit(app["settings"]["server_url"])) for app in OIDC_APPS)
"""Where a form of ours may lead: the provider's page, by way of a redirect."""

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "surgvalid.host.pages.answers.csrf_failure"
SECURE_SSL_REDIRECT = SECURE
SECURE_REDIRECT_EXEMPT = ["^health$"]
METRICS_TOKEN = os.environ.get("SURGVALID_HOST_METRICS", "")
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SECURE else 0
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PROXIES else None
X_FRAME_OPTIONS = "DENY"
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # whether sister names are https too, and
    "security.W021",  # whether browsers learn it by heart, is the domain owner's to say, not ours
]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}}
"""Counts failed sign-ins; in the database, so that every process counts the same."""
DATA_UPLOAD_MAX_MEMORY_SIZE = 1 << 20


def mail(url: str) -> dict[str, Any]:
    """Settings of the server that takes mail; the console without one."""
    if not url:
        return {"MAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    parts = urlsplit(url)
    return {
        "MAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or (465 if parts.scheme == "smtps" else 587),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp" and dict(parse_qsl(parts.query)).get("tls") != "no",
        "EMAIL_TIMEOUT": 20,
    }


EMAIL_BACKEND = "surgvalid.host.outbox.OutboxBackend"
globals().update(mail(os.environ.get("SURGVALID_HOST_MAIL", "")))
DEFAULT_FROM_EMAIL = os.environ.get("SURGVALID_HOST_MAIL_FROM", "challenge@localhost")
SERVER_EMAIL = DEFAULT_FROM_EMAIL


def database(url: str) -> dict[str, Any]:
    """The database that a URL names (`postgresql://user:secret@machine:port/name`); SQLite in the folder without one.

    SQLite takes the write lock when a transaction begins, so that of two at once the second waits and none fails.
    """
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": places.home() / "host.sqlite3",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 60,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
            },
        }
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": database(os.environ.get(places.DATABASE, ""))}
