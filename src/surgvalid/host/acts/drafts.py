"""Changes of a challenge before they hold: the files as a draft has them, what is wrong, and what it would mean."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from surgvalid.host import places
from surgvalid.host.acting import now
from surgvalid.host.acts.challenge import adopt_challenge, current_challenge
from surgvalid.host.acts.quotas import counted_as_scored
from surgvalid.host.acts.refused import Refused
from surgvalid.host.challenge.challenge import Challenge, ChallengePhase
from surgvalid.host.challenge.reading import challenge_of, changes_between
from surgvalid.host.runs.models import ChallengeVersion, Submission
from surgvalid.submissions.stages import Stage

_OWNERS = ("texts.", "terms.file", ".questions", ".references", ".judges", ".submission.")
"""What names files, programs or machines: for owners."""


def files_now() -> dict[str, str]:
    """The challenge file and the texts that it names, as they lie in the folder."""
    texts = {places.CHALLENGE: (places.home() / places.CHALLENGE).read_text(encoding="utf-8")}
    try:
        content = tomllib.loads(texts[places.CHALLENGE])
        named = [content["terms"]["file"], *content["texts"].values()]
        paths = {name: (places.home() / name).resolve() for name in named}
    except (ValueError, KeyError, TypeError, AttributeError):  # the file as a whole can still be mended
        return texts
    inside = {name: path for name, path in paths.items() if path.is_relative_to(places.home()) and path.is_file()}
    return texts | {name: path.read_text(encoding="utf-8", errors="replace") for name, path in inside.items()}


@dataclass(frozen=True)
class ChallengeDraft:
    """The files of a challenge as somebody wants them."""

    files: Mapping[str, str]
    base: str
    """Digest of the files that it began with."""

    @property
    def text(self) -> str:
        """The challenge file."""
        return self.files[places.CHALLENGE]

    def having(self, **files: str) -> ChallengeDraft:
        """The draft with other texts; of files that it does not have, none."""
        return ChallengeDraft({name: files.get(name, text) for name, text in self.files.items()}, self.base)

    def read(self) -> Challenge:
        """What it describes.

        Raises:
            InputInvalid: With a sentence for every problem.
        """
        return challenge_of(self.text, folder=places.home())

    def changes(self) -> list[dict[str, Any]]:
        """Every setting that would be another one, and every text."""
        last = ChallengeVersion.objects.last()
        kept = files_now()
        texts = [one for one in self.files if one != places.CHALLENGE and self.files[one] != kept.get(one)]
        settings = changes_between(last.text, self.text) if last else []
        return [*settings, *({"name": name, "old": "", "new": "another text"} for name in texts)]

    def for_owners(self) -> list[str]:
        """The changed settings that only an owner changes."""
        return [one["name"] for one in self.changes() if any(ending in one["name"] for ending in _OWNERS)]

    def effects(self) -> Iterator[str]:
        """What it means for those who take part, a sentence each."""
        before = (
            {phase.slug: phase for phase in current_challenge().phases} if ChallengeVersion.objects.exists() else {}
        )
        for phase in self.read().phases:
            if phase.slug in before:
                yield from _effects(before[phase.slug], phase)

    def adopt(self, actor: object, note: str) -> ChallengeVersion:
        """The version that it becomes.

        Raises:
            Refused: Somebody changed the files since it was begun.
            InputInvalid: With a sentence for every problem.
        """

        def check() -> None:
            if begun() != self.base:
                raise Refused("draft-outdated", "the files of the challenge were changed by somebody else meanwhile.")

        return adopt_challenge(actor, note, files=self.files, check=check)


def begun() -> str:
    """The digest of the files as they are now, by which a draft knows what it began with."""
    return hashlib.sha256(json.dumps(files_now(), sort_keys=True).encode()).hexdigest()


def new_draft() -> ChallengeDraft:
    """The files as they are."""
    return ChallengeDraft(files_now(), begun())


def _effects(old: ChallengePhase, new: ChallengePhase) -> Iterator[str]:
    handed_in = Submission.objects.filter(phase=new.slug, team__isnull=False)
    for word, most, before, counted in (
        ("scored submissions", new.quota, old.quota, handed_in.filter(counted_as_scored())),
        ("attempts", new.attempts, old.attempts, handed_in.exclude(stage=Stage.FAILED_INFRA)),
    ):
        if most < before:
            used = counted.order_by().values("team").annotate(used=Count("pk")).filter(used__gte=most).count()
            yield f"{new.title}: every team has {before - most} {word} fewer; {used} used as many already."
    if new.closes < now() <= old.closes:
        yield f"{new.title} closes at once; {handed_in.count()} were handed in."
    if old.opens <= now() and (new.questions, new.references) != (old.questions, old.references):
        yield f"{new.title} began with other questions or references: its {handed_in.count()} results are of those."
