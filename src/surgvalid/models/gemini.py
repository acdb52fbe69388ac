"""A model of Google, over its own protocol. The key stands in the environment and is written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from surgvalid.asking.chat import endpoint_of
from surgvalid.asking.replies import Reply, Trouble, error_in, json_in, named_model, text_of, whole_tokens
from surgvalid.models._model import Can, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.models._server import Content, Medium, ServerModel, key_for, split_spec

USAGE = "gemini:MODEL[@URL]"
_URL = "https://generativelanguage.googleapis.com"
_REFUSALS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII", "IMAGE_SAFETY"})
_CUT = "MAX_TOKENS"


class _Dialect:
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

    def headers(self, key: str | None) -> dict[str, str]:
        """The key."""
        return {"x-goog-api-key": key} if key else {}

    def fields(self, prompt: Prompt, content: Content, *, max_tokens: int, with_schema: bool) -> Mapping[str, Any]:
        """The body of a request for content."""
        settings: dict[str, Any] = {"temperature": 0, "maxOutputTokens": max_tokens}
        if prompt.seed is not None:
            settings["seed"] = prompt.seed
        if with_schema and prompt.schema is not None:
            settings |= {"responseMimeType": "application/json", "responseJsonSchema": prompt.schema}
        contents = [{"role": "user", "parts": [_block(piece) for piece in content]}]
        fields: dict[str, Any] = {"contents": contents, "generationConfig": settings}
        return fields | ({"systemInstruction": {"parts": [{"text": prompt.system}]}} if prompt.system else {})

    def read(self, content: bytes) -> Reply | Trouble:
        """The reply in generated content."""
        body = json_in(content)
        if isinstance(body, Trouble):
            return body
        if not isinstance(body, dict):
            return Trouble("the server's answer is no object", passing=True)
        usage = body.get("usageMetadata")
        tokens_in, thoughts = whole_tokens(usage, "promptTokenCount"), whole_tokens(usage, "thoughtsTokenCount")
        tokens_out = whole_tokens(usage, "candidatesTokenCount") + thoughts
        base = Reply(
            "",
            tokens=tokens_in + tokens_out,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            reasons=thoughts > 0,
            model=named_model(body, "modelVersion"),
        )
        feedback = body.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            return base._replace(finish=str(feedback["blockReason"]), refused=True)
        candidates = body.get("candidates")
        if not isinstance(candidates, list) or not candidates or not isinstance(candidates[0], dict):
            return Trouble(f"the server's answer has no candidates{error_in(body)}", passing=True)
        finish, message = str(candidates[0].get("finishReason") or ""), candidates[0].get("content")
        blocks = message.get("parts") if isinstance(message, dict) else None
        shown = [block for block in blocks or [] if isinstance(block, dict) and not block.get("thought")]
        text = text_of(shown)
        if finish in _REFUSALS:
            return base._replace(text=text or "", finish=finish, refused=True)
        return base._replace(text=text or "", finish="length" if finish == _CUT else finish)

    def learns(self, refusal: str) -> bool:  # noqa: ARG002
        """There is one way to ask."""
        return False


def build(argument: str, options: ModelOptions) -> ServerModel:
    """The model of `MODEL` at Google, or of `MODEL@URL` at a gateway.

    Raises:
        Misuse: Neither GEMINI_API_KEY nor GOOGLE_API_KEY is set.
    """
    model, url = split_spec(argument, USAGE, default=_URL)
    endpoint, shown = endpoint_of(url, f"/v1beta/models/{quote(model, safe='')}:generateContent", USAGE)
    dialect = _Dialect()
    key = key_for(dialect, where=url, needed=url == _URL)
    name = f"gemini:{model}" + ("" if url == _URL else f"@{shown}")
    can = Can(
        images=True,
        most_frames=options.most_frames,
        video=True,
        boxes=options.boxes or "yxyx-1000",
        seeds=True,
        schema=True,
    )
    return ServerModel(
        "gemini", name, model=model, endpoint=endpoint, dialect=dialect, key=key, can=can, options=options
    )


def _block(piece: str | Medium) -> Mapping[str, Any]:
    if isinstance(piece, str):
        return {"text": piece}
    return {"inlineData": {"mimeType": piece.mime, "data": piece.mark}}
