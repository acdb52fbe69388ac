"""Which tokens keep an answer inside its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surgvalid.models._long_video.forms import AnswerForm, States

_HERE = ""


class Words:
    """The vocabulary of a model as a tree of letters.

    Args:
        texts: What each token stands for; an empty text is a token that never stands in an answer.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._tree: dict[str, Any] = {}
        self.texts = list(texts)
        self.printable: list[int] = []
        """Tokens that a free answer may hold."""
        for token, text in enumerate(texts):
            if text and text.isprintable() and "\ufffd" not in text:
                self.printable.append(token)
                node = self._tree
                for letter in text:
                    node = node.setdefault(letter, {})
                node.setdefault(_HERE, []).append(token)

    @classmethod
    def of(cls, tokenizer: Any, count: int | None = None) -> Words:
        """The words of a tokenizer; special tokens are none.

        Args:
            tokenizer: Of `transformers`.
            count: Logits of the model, where there are fewer of them than tokens.
        """
        size = len(tokenizer) if count is None else min(count, len(tokenizer))
        special = set(tokenizer.all_special_ids) | set(getattr(tokenizer, "added_tokens_decoder", {}))
        texts = tokenizer.batch_decode([[token] for token in range(size)], clean_up_tokenization_spaces=False)
        return cls(["" if token in special else text for token, text in enumerate(texts)])

    def allowed(self, form: AnswerForm, states: States) -> Mapping[int, States]:
        """For each token that may come next, the states behind it; not for free forms, which admit all `printable`."""
        options: dict[int, States] = {}
        waiting = [(self._tree, states)]
        while waiting:
            node, at = waiting.pop()
            options.update(dict.fromkeys(node.get(_HERE, ()), at))
            waiting += [(node[letter], form.after(at, letter)) for letter in node.keys() & form.letters(at)]
        return options
