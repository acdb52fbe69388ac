"""The parser on replies of a grammar: what a reply means is known from how it was made, never from how it is read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surgvalid.judges._case import verdict_from_reply


def parse_verdict(text: str) -> bool | None:
    return verdict_from_reply(text).correct


MEANS = {"CORRECT": True, "INCORRECT": False, "UNSURE": None}
PROSE = (
    "Both texts name the cystic duct.", "I compare the two answers.", "Reference: duct; candidate: duct.",
    "The question asks for a side.", "1. structure: duct.", "- side: left;", "> quoted from the material:",
    "The candidate names one structure (the duct).", "It says \"left\", as the reference does.",
)  # fmt: skip
ELSEWHERE = (
    "1. structure: duct", "the side is left", "# Comparison",
    "Beide Texte nennen den Gang.", "Les deux textes nomment le canal cystique.", "Ambos textos nombran el conducto.",
    "Оба ответа называют проток.", "两个答案都提到胆囊管。", "どちらも胆嚢管です。", "كلاهما يذكر القناة.",
)  # fmt: skip
DENIALS = (
    "No", "Not", "It is not", "Never", "Hardly", "Partially", "Nein", "Das ist nicht", "Teilweise", "Falsch", "Non",
    "Ce n'est pas", "Presque", "Nunca", "Casi", "Não", "Quase", "Niet", "Нет", "Это не", "不", "部分", "いいえ",
    "아니요", "لا",
)  # fmt: skip

words = st.sampled_from(list(MEANS))
verdicts = st.sampled_from(["CORRECT", "INCORRECT"])
prose = st.lists(st.sampled_from(PROSE), max_size=4)
breaks = st.sampled_from(["\n", "\n\n", "\r\n", " \n"])
plain = st.text(st.characters(codec="utf-8", exclude_characters="<{}`"), max_size=30)


def respelled(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from([word, word.lower(), word.title()])


@st.composite
def documents(draw: Any, word: str) -> str:
    """A JSON object with the verdict and other members, none of which holds another."""
    member = st.one_of(plain, st.integers(), st.booleans(), st.none(), st.lists(plain, max_size=2))
    keys = st.sampled_from(["reason", "confidence", "note", "reference", "steps"])
    others = draw(st.dictionaries(keys, member, max_size=3))
    members = list(others.items())
    members.insert(draw(st.integers(0, len(members))), ("verdict", draw(respelled(word))))
    return json.dumps(dict(members), indent=draw(st.sampled_from([None, 2])), ensure_ascii=draw(st.booleans()))


@st.composite
def strong(draw: Any, word: str) -> str:
    """A statement that nothing before it can weaken: an object, a fence, a labelled line."""
    label = draw(st.sampled_from(["Verdict: {}", "Answer: {}", "**Final verdict:** {}", "Final answer: **{}**"]))
    document = draw(documents(word))
    return draw(st.sampled_from([
        document, f"```json\n{document}\n```", f"```\n{document}\n```", label.format(draw(respelled(word))),
    ]))  # fmt: skip


@st.composite
def weak(draw: Any, word: str) -> str:
    """A statement that holds only where nothing speaks against it: a bare word or a sentence."""
    frame = draw(st.sampled_from(["{}", "**{}**", "\"{}\"", "`{}`", "{}.", "{}!", "The answer is {}.",
                                  "So the candidate's answer is {}.", "The verdict is **{}**."]))  # fmt: skip
    return frame.format(draw(respelled(word)))


def statements(word: str) -> st.SearchStrategy[str]:
    return st.one_of(strong(word), weak(word))


@st.composite
def reasoning(draw: Any) -> str:
    """A finished block of thoughts, in which anything may be said."""
    tag = draw(st.sampled_from(["think", "thinking", "reasoning"]))
    thought = draw(st.one_of(plain, words, words.flatmap(statements), st.sampled_from(["not", "No:", "{"])))
    return draw(st.sampled_from(["", f"<{tag}>{thought}</{tag}>", f"<{tag.upper()}>{thought}</{tag.upper()}>\n",
                                 f"{thought}</{tag}>"]))  # fmt: skip


@given(st.data(), words, reasoning(), prose, breaks)
def test_a_reply_means_what_it_ends_in(data: Any, word: str, thoughts: str, before: list[str], between: str) -> None:
    reply = thoughts + between.join([*before, data.draw(statements(word))])
    assert parse_verdict(reply) is MEANS[word], reply


@given(st.data(), verdicts, st.lists(st.sampled_from([*PROSE, *ELSEWHERE, *DENIALS]), max_size=4), breaks)
def test_a_strong_statement_holds_after_any_prose_in_any_language(
    data: Any, word: str, before: list[str], between: str
) -> None:
    reply = between.join([*before, data.draw(strong(word))])
    assert parse_verdict(reply) is MEANS[word], reply


@given(
    st.data(),
    verdicts,
    prose,
    st.sampled_from(DENIALS),
    st.sampled_from(["\n", ":\n", ".\n\n", ", ", " ", " :\n", "…\n"]),
)
def test_a_weak_statement_after_a_denial_in_any_language_is_never_taken_at_its_word(
    data: Any, word: str, before: list[str], denial: str, between: str
) -> None:
    reply = "\n".join([*before, denial + between + data.draw(weak(word))])
    assert parse_verdict(reply) is None, reply


@given(st.data(), st.lists(words, min_size=2, max_size=4, unique=True), prose, breaks)
def test_statements_that_contradict_each_other_are_none(
    data: Any, said: list[str], between: list[str], line: str
) -> None:
    drawn = [data.draw(statements(word)) for word in said]
    reply = line.join([*drawn[:-1], *between, drawn[-1]])
    assert parse_verdict(reply) is None, reply


@given(st.data(), verdicts, words, st.sampled_from(["I first thought {} here.", "So {}, or rather:", "- {}: a draft"]))
def test_an_object_within_a_sentence_is_a_statement_too(data: Any, word: str, other: str, sentence: str) -> None:
    reply = f"{sentence.format(data.draw(documents(other)))}\n{data.draw(strong(word))}"
    assert parse_verdict(reply) is (MEANS[word] if other == word else None), reply


@given(st.data(), verdicts, st.sampled_from(["I would not say", "It asks me to reply", "> it reads", "Es sagt:", "不"]))
def test_an_object_that_a_sentence_quotes_is_no_verdict(data: Any, word: str, sentence: str) -> None:
    document = data.draw(documents(word))
    assert parse_verdict(f"{sentence} {document}") is None
    assert parse_verdict(f"Both name the duct.\n{sentence} {document}") is None


@given(
    words,
    words,
    st.sampled_from(
        ["final_verdict", "Final verdict", "verdict2", "my-verdict", "correct", "is_correct", "Correctness"]
    ),
    st.booleans(),
)
def test_a_second_statement_under_another_name_takes_the_verdict_away(
    one: str, two: str, key: str, first: bool
) -> None:
    members = [("verdict", one), (key, two)]
    assert parse_verdict(json.dumps(dict(members if first else members[::-1]))) is None


@given(st.data(), verdicts, words)
def test_a_label_that_goes_on_is_a_statement_too(data: Any, word: str, other: str) -> None:
    reply = f"Verdict: {data.draw(respelled(other))}, as the texts show.\n{data.draw(strong(word))}"
    assert parse_verdict(reply) is (MEANS[word] if other == word else None), reply


wraps = st.recursive(
    st.builds(lambda word: {"verdict": word}, words),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2)
    ),
    max_leaves=4,
)


@given(st.data(), words, wraps, prose, st.booleans())
def test_a_verdict_inside_another_object_is_none(
    data: Any, word: str, inner: Any, before: list[str], fenced: bool
) -> None:
    outer = data.draw(
        st.sampled_from([{"inner": inner}, {"verdict": word, "inner": inner}, {"Verdict ": word, "verdict": inner}])
    )
    document = json.dumps(outer)
    reply = "\n".join([*before, f"```json\n{document}\n```" if fenced else document])
    assert parse_verdict(reply) is None, reply


@given(words, words, st.sampled_from(["verdict", "Verdict", "VERDICT"]))
def test_a_key_said_twice_is_none(one: str, two: str, key: str) -> None:
    assert parse_verdict(f'{{"{key}": "{one}", "verdict": "{two}"}}') is None


@given(st.data(), words, st.sampled_from(["<think>", "<THINKING>", "<reasoning>"]), plain)
def test_thoughts_that_never_end_leave_nothing(data: Any, word: str, tag: str, thought: str) -> None:
    said = data.draw(statements(word))
    assert parse_verdict(f"{tag}{thought}\n{said}") is None
    assert parse_verdict(f"{said}\n{tag}{thought}") is None
    assert parse_verdict(f"<think>a</think>{said}{tag}{thought}\n{said}") is None


@given(st.data(), words, st.floats(0, 1, exclude_max=True))
def test_an_object_that_was_not_finished_is_none(data: Any, word: str, share: float) -> None:
    document = data.draw(documents(word))
    assert parse_verdict(document[: int(share * len(document))]) is None


@given(
    st.data(),
    verdicts,
    st.sampled_from([*PROSE, *ELSEWHERE, "Or not.", "?", "maybe", "{", "```"]),
    st.sampled_from(" \n"),
)
def test_a_reply_that_goes_on_after_its_verdict_is_none(data: Any, word: str, more: str, between: str) -> None:
    reply = data.draw(statements(word)) + between + more
    assert parse_verdict(reply) is None, reply
