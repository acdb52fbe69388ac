"""A model behind a server that speaks the OpenAI protocol: vLLM, SGLang, Ollama, llama.cpp, LMDeploy or hosted.

Temperature 0, a schema for the answer where the server takes one. Images go as data, never as addresses. Video goes
where the server takes it (vLLM and SGLang do), which only you can know: `video=True`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from surgvalid.asking.chat import endpoint_of
from surgvalid.asking.replies import OpenAIDialect
from surgvalid.errors import Misuse
from surgvalid.models._model import Can, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.models._server import Content, Medium, ServerModel, key_for, split_spec

USAGE = "openai:MODEL@URL"
_PATH = "/chat/completions"
_HOSTED = "api.openai.com"
_TOP = 20


class _Dialect(OpenAIDialect):
    def __init__(self, model: str, *, logprobs: bool) -> None:
        self.model, self.logprobs = model, logprobs
        self._limit_name = "max_tokens"
        self._has_temperature = True

    def fields(self, prompt: Prompt, content: Content, *, max_tokens: int, with_schema: bool) -> Mapping[str, Any]:
        """The body of a chat completion."""
        blocks = [_block(piece) for piece in content]
        user = "\n".join(piece for piece in content if isinstance(piece, str)) if _is_text(content) else blocks
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        fields = {
            "model": self.model,
            "messages": [*system, {"role": "user", "content": user}],
            self._limit_name: max_tokens,
            "stream": False,
        }
        if self._has_temperature:
            fields["temperature"] = 0
        if prompt.seed is not None:
            fields["seed"] = prompt.seed
        if self.logprobs and prompt.labels:
            fields |= {"logprobs": True, "top_logprobs": _TOP}
        if with_schema and prompt.schema is not None:
            schema = {"name": "answer", "strict": True, "schema": prompt.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        return fields

    def learns(self, refusal: str) -> bool:
        """Newer models of the protocol's author want another name for the limit, and no temperature."""
        if "max_completion_tokens" in refusal and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
            return True
        if "temperature" in refusal and "upport" in refusal and self._has_temperature:
            self._has_temperature = False
            return True
        return False


def build(argument: str, options: ModelOptions) -> ServerModel:
    """The model of `MODEL@URL`.

    Raises:
        Misuse: The URL cannot be used, or boxes are said to be in pixels that nobody knows.
    """
    if options.boxes == "xyxy-shown":
        raise Misuse(
            "a server does not say at which size its model saw an image, so boxes in those pixels cannot be read; send"
            " images whose sides are multiples of 28 pixels and say xyxy-pixels"
        )
    model, url = split_spec(argument, USAGE)
    endpoint, shown = endpoint_of(url, _PATH, USAGE)
    dialect = _Dialect(model, logprobs=options.logprobs)
    key = key_for(dialect, where=_HOSTED, needed=urlsplit(endpoint).hostname == _HOSTED)
    can = Can(
        images=not options.text_only,
        most_frames=options.most_frames,
        video=options.video,
        boxes=options.boxes,
        scores=options.logprobs,
        seeds=True,
        schema=True,
    )
    name = f"openai:{model}@{shown}"
    return ServerModel(
        "openai", name, model=model, endpoint=endpoint, dialect=dialect, key=key, can=can, options=options
    )


def _is_text(content: Content) -> bool:
    return all(isinstance(piece, str) for piece in content)


def _block(piece: str | Medium) -> Mapping[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    kind = "image_url" if piece.mime.startswith("image/") else "video_url"
    return {"type": kind, kind: {"url": f"data:{piece.mime};base64,{piece.mark}"}}
