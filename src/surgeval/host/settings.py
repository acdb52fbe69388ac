"""Settings of the web service; what differs between machines comes from the environment."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from surgeval.host import places

SECRET_KEY = places.secret_key()
DEBUG = False
ALLOWED_HOSTS = os.environ.get("SURGEVAL_HOST_NAMES", "127.0.0.1,localhost,[::1]").split(",")
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "surgeval.host.people",
    "surgeval.host.runs",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "surgeval.host.api.bearers.BearerMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "surgeval.host.urls"
WSGI_APPLICATION = "surgeval.host.wsgi.application"
AUTH_USER_MODEL = "people.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {}}]


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
