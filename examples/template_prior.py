"""A blind participant: answers from the wording of the question alone, never looking at the video.

    python template_prior.py TRAIN_REQUESTS.json TRAIN_REFERENCES.json

It answers with the most frequent training answer to questions of the same wording, first within the same kind of
procedure, then in all; wordings it has not seen get the most frequent answer of their wanted format. A model that
sees should beat it clearly; how it does in a bucket is how much of that bucket is wording.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

try:
    from serve import serve  # in an image: the file beside this one
except ImportError:
    from surgvalid.submissions.serve import serve

NUMBERS = re.compile(r"\d+")
FORMATS = {
    "binary": re.compile(r"yes\s*(/|or)\s*no", re.IGNORECASE),
    "time": re.compile(r"hh:mm:ss", re.IGNORECASE),
    "percentage": re.compile(r"%|percent", re.IGNORECASE),
    "number": re.compile(r"\bnumber\b|how (many|often)", re.IGNORECASE),
    "fo_class": re.compile(r"\bclass(es)?\b", re.IGNORECASE),
}
WITHOUT_TRAINING = {"binary": "yes", "time": "00:00:00", "percentage": "50%", "number": "1", "fo_class": "none"}


def template_of(text: str) -> str:
    """The wording with every number masked and without the options of a choice, which differ from case to case."""
    return NUMBERS.sub("#", text.casefold().partition("select one")[0]).strip()


def options_of(text: str) -> list[str]:
    """What can be chosen from, or nothing where the answer is free."""
    return [option.strip(" .") for option in text.partition("Select one:")[2].split(";") if option.strip(" .")]


def format_of(text: str) -> str:
    """The wanted format, told by the wording."""
    return next((name for name, cue in FORMATS.items() if cue.search(text)), "open_ended")


class Prior:
    """Counts of training answers per wording."""

    def __init__(self) -> None:
        self.counts: dict[Hashable, Counter[str]] = defaultdict(Counter)

    def learn(self, request: dict[str, Any], answer: str) -> None:
        """Count one training question."""
        for key in self.keys(request):
            self.counts[key][answer] += 1

    def answer(self, request: dict[str, Any]) -> str:
        """The most frequent answer under the most specific key that was seen."""
        return (self.ranked(request) or [WITHOUT_TRAINING.get(format_of(request["question"]), "unknown")])[0]

    def ranked(self, request: dict[str, Any]) -> list[str]:
        """Possible answers, the most specific key and the most frequent first; ties go to the first by name."""
        known = [self.counts[key] for key in self.keys(request) if key in self.counts]
        ordered = [answer for counts in known for answer in sorted(counts, key=lambda one: (-counts[one], one))]
        options = options_of(request["question"])
        return [answer for answer in ordered if answer in options] + options if options else ordered

    @staticmethod
    def keys(request: dict[str, Any]) -> tuple[Hashable, ...]:
        """From the most specific to the most general."""
        template = template_of(request["question"])
        return (template, request.get("procedure_type", "")), template, ("format", format_of(request["question"]))


def trained(requests_path: str, references_path: str) -> Prior:
    """A prior from files of official requests and references."""
    prior = Prior()
    with open(references_path, encoding="utf-8") as handle:
        answers = {row["qID"]: row["answer"] for row in json.load(handle)}
    with open(requests_path, encoding="utf-8") as handle:
        for request in json.load(handle):
            if request["qID"] in answers:
                prior.learn(request, answers[request["qID"]])
    return prior


if __name__ == "__main__":
    serve((trained(*sys.argv[1:3]) if len(sys.argv) > 2 else Prior()).answer, name="template prior (blind)")
