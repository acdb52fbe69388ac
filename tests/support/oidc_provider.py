"""A provider of OpenID Connect on loopback that keeps to the protocol, and can be told not to."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """Who signs in here, and what the tokens say beyond that; tests change both."""

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url, self.client = name, url, f"client-of-{name}"
        self.person: dict[str, Any] = {"sub": "7", "email": "ada@hospital.example", "email_verified": True}
        self.token_changes: dict[str, Any] = {}
        self.userinfo_changes: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    @property
    def app(self) -> dict[str, Any]:
        """As the file behind SURGVALID_HOST_OIDC has it."""
        return {"provider_id": self.name, "name": self.name.title(), "client_id": self.client, "secret": "s",
                "settings": {"server_url": self.url}}  # fmt: skip

    def authorize(self, address: str) -> dict[str, str]:
        """What the page of the provider sends back with the browser, once the person has agreed there."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = uuid4().hex
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """What a call of the service gets."""
        if path == "/.well-known/openid-configuration":
            places = {"authorization": "authorize", "token": "token", "userinfo": "me"}
            return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys",
                         **{f"{name}_endpoint": f"{self.url}/{place}" for name, place in places.items()}}  # fmt: skip
        if path == "/me":
            return 200, self.person | self.userinfo_changes
        asked = self.codes.pop(form.get("code", ""), None)  # a code works once
        if asked is None or asked.get("code_challenge") not in (None, _challenge(form.get("code_verifier", ""))):
            return 400, {"error": "invalid_grant"}
        claims = self.person | {"iss": self.url, "aud": self.client, "iat": time.time(), "exp": time.time() + 60}
        token = jwt.encode(claims | self.token_changes, KEY, "RS256", headers={"kid": "1"})
        return 200, {"access_token": uuid4().hex, "token_type": "Bearer", "id_token": token}


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


@contextmanager
def provider(name: str) -> Iterator[Provider]:
    """A provider that answers on loopback."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            form = {key: values[0] for key, values in parse_qs(self.rfile.read(length).decode()).items()}
            status, content = made.answer(urlsplit(self.path).path, form)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made = Provider(name, f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
