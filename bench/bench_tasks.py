"""100,000 answers in words read by the rules of tasks; beside it, what reading the first brace to the last takes.

The peer is the way of the study's released code (from the first brace to the last, newlines dropped, True and False
replaced, then JSON), on the answers that it can read at all: those of one object and nothing else.
"""

from __future__ import annotations

import json
import random
from functools import partial

from bench.harness import Row, cpu_seconds
from surgvalid.asking.reading import ReplySchema, read_reply
from surgvalid.tasks import open_task
from surgvalid.tasks.responses import reply_schema

ANSWERS = 100_000
GOAL_S = 20.0
_STYLES = (
    "{}",
    "```json\n{}\n```",
    "<think>The hook may be there.</think>\n{}",
    "Here is my answer:\n{}\nThat is all.",
)


def label_answers(count: int) -> list[str]:
    """Answers about seven tools, in the usual wrappings, some with single quotes."""
    draw, tools = random.Random(3), list(open_task("tool-c80").answer.classes)
    answers = []
    for place in range(count):
        draw.shuffle(tools)
        held = {name: draw.random() < 0.3 for name in tools}
        text = json.dumps(held) if place % 5 else str(held)
        answers.append(_STYLES[place % len(_STYLES)].replace("{}", text))
    return answers


def choice_answers(count: int) -> list[str]:
    """Answers about seven phases: numbers, names, sentences."""
    draw, phases = random.Random(4), open_task("phase-c80").answer.classes
    forms = ('{{"phase": {0}}}', "{1}", "The phase is {1}.", "I see the hook on the liver bed, so this is {1}.")
    return [
        forms[place % len(forms)].format(number, phases[number])
        for place in range(count)
        for number in [draw.randrange(len(phases))]
    ]


def braces(texts: list[str]) -> int:
    """How many answers the first brace to the last gives."""
    read = 0
    for text in texts:
        piece = text[text.find("{") : text.rfind("}") + 1].replace("\n", "").replace("True", "1").replace("False", "0")
        try:
            read += isinstance(json.loads(piece), dict)
        except ValueError:
            continue
    return read


def all_read(schema: ReplySchema, texts: list[str]) -> int:
    """How many answers our rules read."""
    return sum(read_reply(text, schema).usable for text in texts)


def rows() -> list[Row]:
    """Reading of labels and of choices."""
    made = []
    for name, texts in (("tool-c80", label_answers(ANSWERS)), ("phase-c80", choice_answers(ANSWERS))):
        schema = reply_schema(open_task(name).answer)
        usable = all_read(schema, texts[:2000]) / 2000
        ours = cpu_seconds(partial(all_read, schema, texts), repeat=1)
        peer = cpu_seconds(partial(braces, texts), repeat=1)
        kept = braces(texts[:2000]) / 2000
        within = "kept" if ours <= GOAL_S else "NOT kept"
        note = f"ours reads {usable:.0%} of the answers, the peer {kept:.0%}; goal {GOAL_S:g} s: {within}"
        made.append(Row(f"read {ANSWERS:,} answers of {name}", ours, "first brace to last", peer, note=note))
    return made
