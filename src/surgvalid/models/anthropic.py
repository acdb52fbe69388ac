"""A model of Anthropic, over its own protocol. The key stands in the environment and is written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from surgvalid.asking.chat import endpoint_of
from surgvalid.asking.replies import Reply, Trouble, error_in, json_in, named_model, text_of, whole_tokens
from surgvalid.models._model import Can, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.models._server import Content, Medium, ServerModel, key_for, split_spec

USAGE = "anthropic:MODEL[@URL]"
_URL, _PATH, _VERSION = "https://api.anthropic.com", "/v1/messages", "2023-06-01"
_MOST_PICTURES = 100


class _Dialect:
    key_variables = ("ANTHROPIC_API_KEY",)

    def __init__(self, model: str) -> None:
        self.model = model
        self._has_temperature = True

    def headers(self, key: str | None) -> dict[str, str]:
        """Key and version of the protocol."""
        return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})

    def fields(self, prompt: Prompt, content: Content, *, max_tokens: int, with_schema: bool) -> Mapping[str, Any]:  # noqa: ARG002
        """The body of a message."""
        messages = [{"role": "user", "content": [_block(piece) for piece in content]}]
        fields: dict[str, Any] = {"model": self.model, "max_tokens": max_tokens, "messages": messages}
        if self._has_temperature:
            fields["temperature"] = 0
        return fields | ({"system": prompt.system} if prompt.system else {})

    def read(self, content: bytes) -> Reply | Trouble:
        """The reply in a message."""
        body = json_in(content)
        if isinstance(body, Trouble):
            return body
        blocks = body.get("content") if isinstance(body, dict) else None
        if not isinstance(blocks, list):
            return Trouble(f"the server's answer has no content{error_in(body)}", passing=True)
        finish, usage = str(body.get("stop_reason") or ""), body.get("usage")
        tokens_in, tokens_out = whole_tokens(usage, "input_tokens"), whole_tokens(usage, "output_tokens")
        reasons = any(isinstance(block, dict) and block.get("type") == "thinking" for block in blocks)
        return Reply(
            text_of(blocks) or "",
            finish,
            refused=finish == "refusal",
            tokens=tokens_in + tokens_out,
            reasons=reasons,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            model=named_model(body),
        )

    def learns(self, refusal: str) -> bool:
        """Some models take no temperature."""
        if "temperature" in refusal and self._has_temperature:
            self._has_temperature = False
            return True
        return False


def build(argument: str, options: ModelOptions) -> ServerModel:
    """The model of `MODEL` at Anthropic, or of `MODEL@URL` at a gateway.

    Raises:
        Misuse: ANTHROPIC_API_KEY is not set.
    """
    model, url = split_spec(argument, USAGE, default=_URL)
    endpoint, shown = endpoint_of(url, _PATH, USAGE)
    dialect = _Dialect(model)
    host = urlsplit(endpoint).hostname or ""
    key = key_for(dialect, where=host, needed=url == _URL)
    name = f"anthropic:{model}" + ("" if url == _URL else f"@{shown}")
    can = Can(images=True, most_frames=options.most_frames or _MOST_PICTURES, boxes=options.boxes)
    return ServerModel(
        "anthropic", name, model=model, endpoint=endpoint, dialect=dialect, key=key, can=can, options=options
    )


def _block(piece: str | Medium) -> Mapping[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    return {"type": "image", "source": {"type": "base64", "media_type": piece.mime, "data": piece.mark}}
