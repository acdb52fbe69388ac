"""The judge that runs here: a causal language model from a local folder, nothing sent anywhere.

For data whose agreement forbids external services. Greedy decoding, thinking switched off where the
chat template knows the switch, no remote code, no download. Replies in one batch can move by rounding
when the batch changes, so batches follow the order of the cases.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.errors import ExtraNeeded, JudgeFailed
from surgvalid.judges._case import (
    FAILED,
    JUDGED,
    Done,
    JudgeCase,
    Verdict,
    collected,
    cut,
    has_verdict,
    verdict_from_reply,
)
from surgvalid.judges._official_server import LOCAL_TOKENS, PROTOCOL, official_messages, official_texts, says_correct
from surgvalid.judges._prompt import JudgePrompt, asked_again, prompt_of

USAGE = "local:PATH"

_WHOLE_FILE = 1 << 20


class _Loaded(NamedTuple):
    tokenizer: Any
    model: Any
    longest: int
    """Tokens that fit into the model, or 0 when it does not say."""


class _Said(NamedTuple):
    """What the model said to one prompt."""

    text: str
    ended: bool
    tokens: int
    fits: bool = True

    @property
    def has_word(self) -> bool:
        return self.fits and self.ended and has_verdict(self.text)


class LocalJudge:
    """Asks a causal language model from a folder about every case.

    Args:
        path: A folder with configuration, weights and tokenizer.
        batch: Cases generated at once.
        max_new_tokens: Room for the reply.
    """

    asks_again = True
    """Whether a reply without a verdict is followed by one plain question more."""

    def __init__(self, path: str | Path, *, batch: int = 8, max_new_tokens: int = 512) -> None:
        self._torch, self._transformers = _needed("torch"), _needed("transformers")
        self.folder = Path(path)
        if not (self.folder / "config.json").is_file():
            raise JudgeFailed(f"local judge: {self.folder} holds no config.json; give the folder of a saved model")
        self.name = f"local:{self.folder.resolve().name}@{fingerprint(self.folder)}"
        self.batch, self.max_new_tokens = batch, max_new_tokens
        self._loaded: _Loaded | None = None

    def limited(self, *, tokens: int | None = None, timeout_s: float | None = None) -> LocalJudge:  # noqa: ARG002
        """The same judge with other room for a reply; what runs here is waited for."""
        return self if tokens is None else LocalJudge(self.folder, batch=self.batch, max_new_tokens=tokens)

    def as_official(self) -> OfficialLocalJudge:
        """The same model, asked in the protocol of the official toolkit."""
        return OfficialLocalJudge(self.folder)

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One verdict per case, in the order of the cases."""
        return collected(self, cases)

    def judge_each(self, cases: Sequence[JudgeCase], done: Done) -> None:
        """Ask about all cases, batch by batch."""
        for start in range(0, len(cases), self.batch):
            for offset, verdict in enumerate(self._batch(cases[start : start + self.batch])):
                done(start + offset, verdict)

    def _batch(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        start = time.monotonic()
        heard = self._heard([self._prompt_ids(case) for case in cases])
        wordless = [i for i, reply in enumerate(heard) if self.asks_again and reply.fits and not reply.has_word]
        again = self._heard([self._prompt_ids(cases[i], heard[i].text) for i in wordless])
        for i, reply in zip(wordless, again, strict=True):
            better = reply if reply.has_word else heard[i]
            heard[i] = better._replace(tokens=heard[i].tokens + reply.tokens)
        latency_s = (time.monotonic() - start) / len(cases)
        return [
            self._read(reply.text, was_cut=not reply.ended, latency_s=latency_s, tokens=reply.tokens)
            if reply.fits
            else Verdict(None, FAILED, reply.text)
            for reply in heard
        ]

    def _heard(self, prompts: list[list[int]]) -> list[_Said]:
        tokenizer, _, longest = self._load()
        fits = [not longest or len(tokens) + self.max_new_tokens <= longest for tokens in prompts]
        replies = iter(self._replies([tokens for tokens, fit in zip(prompts, fits, strict=True) if fit]))
        heard = []
        for tokens, fit in zip(prompts, fits, strict=True):
            if not fit:
                text = f"the prompt has {len(tokens)} tokens, more than the model's {longest} leave room for"
                heard.append(_Said(text, True, 0, fits=False))
                continue
            new, ended = next(replies)
            text = tokenizer.decode(new, skip_special_tokens=True)
            heard.append(_Said(text, ended, len(tokens) + len(new)))
        return heard

    def _prompt_ids(self, case: JudgeCase, reply: str | None = None) -> list[int]:
        """The prompt of a case; of one whose reply had no verdict, the prompt of the second question."""
        tokenizer = self._load().tokenizer
        text = _chat_text(tokenizer, prompt_of(case), [] if reply is None else asked_again(reply))
        return list(tokenizer(text, add_special_tokens=not tokenizer.chat_template)["input_ids"])

    def _read(self, text: str, *, was_cut: bool, latency_s: float, tokens: int) -> Verdict:
        return verdict_from_reply(text, was_cut=was_cut, latency_s=latency_s, tokens=tokens)

    def _replies(self, prompts: list[list[int]]) -> list[tuple[list[int], bool]]:
        """The new tokens after each prompt, and whether the model came to an end by itself."""
        if not prompts:
            return []
        tokenizer, model, _ = self._load()
        padded = tokenizer.pad({"input_ids": prompts}, return_tensors="pt", padding_side="left").to(model.device)
        with self._torch.inference_mode():
            generated = model.generate(
                input_ids=padded["input_ids"],
                attention_mask=padded["attention_mask"],
                max_new_tokens=self.max_new_tokens,
                pad_token_id=tokenizer.pad_token_id,
                do_sample=False,
                num_beams=1,
                temperature=None,
                top_p=None,
                top_k=None,
            )
        stops = _stop_ids(model, tokenizer)
        return [_until_stop(row, stops) for row in generated[:, padded["input_ids"].shape[1] :].tolist()]

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = self._opened()
        return self._loaded

    def _opened(self) -> _Loaded:
        transformers = self._transformers
        # The name of this option changed with version 5.
        precision = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
        only_here = {"local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(self.folder), **only_here)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                str(self.folder), **only_here, **{precision: "auto"}
            )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())[:300]
            raise JudgeFailed(f"local judge: {self.folder} cannot be loaded ({reason})") from None
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
        device = "cuda" if self._torch.cuda.is_available() else "cpu"
        return _Loaded(tokenizer, model.to(device).eval(), getattr(model.config, "max_position_embeddings", 0) or 0)


class OfficialLocalJudge(LocalJudge):
    """The model asked as the toolkit's `TransformersJudge` asks it: one by one, eight tokens, its prompt."""

    prompt = PROTOCOL
    asks_again = False

    def __init__(self, path: str | Path) -> None:
        official_texts()
        super().__init__(path, batch=1, max_new_tokens=LOCAL_TOKENS)
        self.name = f"{self.name} ({PROTOCOL})"

    def _prompt_ids(self, case: JudgeCase, reply: str | None = None) -> list[int]:  # noqa: ARG002
        tokenizer = self._load().tokenizer
        return list(tokenizer(_templated(tokenizer, official_messages(case)))["input_ids"])

    def _read(self, text: str, *, was_cut: bool, latency_s: float, tokens: int) -> Verdict:
        finish = "length" if was_cut else "stop"
        return Verdict(says_correct(text), JUDGED, cut(text), latency_s, tokens, finish)


def build(argument: str) -> LocalJudge:
    """The judge from the folder at `argument`."""
    return LocalJudge(argument)


def fingerprint(folder: Path) -> str:
    """Twelve digits that change with the model: names and sizes of its files, and what the small ones hold.

    Of files above 1 MB the first and last 64 kB stand for the whole, so a judge of many gigabytes is
    named in no time.
    """
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as handle:
            if size <= _WHOLE_FILE:
                digest.update(handle.read())
            else:
                digest.update(handle.read(1 << 16))
                handle.seek(-(1 << 16), 2)
                digest.update(handle.read())
    return digest.hexdigest()


def _needed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise ExtraNeeded("judge 'local'", package, "local-models") from None


def _chat_text(tokenizer: Any, prompt: JudgePrompt, more: Sequence[dict[str, str]] = ()) -> str:
    """The prompt in the model's own chat layout; templates without a system role get it as user text."""
    if not tokenizer.chat_template:
        return "".join(f"{message['content']}\n\n" for message in [*prompt.messages(), *more])
    merged = {"role": "user", "content": f"{prompt.system}\n\n{prompt.user}"}
    try:
        return _templated(tokenizer, [*prompt.messages(), *more])
    except import_module("jinja2").TemplateError:
        return _templated(tokenizer, [merged, *more])


def _templated(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
    return str(tokenizer.apply_chat_template(messages, **options))


def _stop_ids(model: Any, tokenizer: Any) -> set[int]:
    configured = model.generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return {token for token in [*listed, tokenizer.eos_token_id] if token is not None}


def _until_stop(tokens: list[int], stops: set[int]) -> tuple[list[int], bool]:
    for position, token in enumerate(tokens):
        if token in stops:
            return tokens[:position], True
    return tokens, False
