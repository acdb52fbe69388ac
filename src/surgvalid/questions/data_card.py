"""The data card: what a set of questions holds, how far one comes without looking, what was left out.

How far one comes is what the predictors of `blind_guesses` reach, template by template; `surgvalid score baselines`
computes further ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from surgvalid.questions.balancing import Selection
from surgvalid.questions.blind_guesses import WHOLE_LIMIT, Leak, leak_table
from surgvalid.questions.draft_store import AnyDraft
from surgvalid.questions.drafts import DraftTally
from surgvalid.questions.splits import Splits, VideoFacts
from surgvalid.schema.procedures.ledger import RULES


class Placed(NamedTuple):
    """A chosen draft with its split and whether it is out of distribution."""

    draft: AnyDraft
    split: str
    ood: bool

    @property
    def reworded(self) -> bool:
        """Whether it is asked in the phrasing that training never shows: one in five questions for testing."""
        return self.split == "test" and int(self.draft.case[1:], 16) % 5 == 0


@dataclass(frozen=True, slots=True)
class QuestionCard:
    """Counts, prevalences, trivial baselines and defects of a set of questions."""

    counts: pl.DataFrame
    """Questions by split, track, capability, format, ood and clinical relevance."""
    templates: pl.DataFrame
    """Per split, track and template: questions, answers, trivial baselines."""
    videos: pl.DataFrame
    classes: pl.DataFrame
    """Per class: videos that show it, seconds in view, questions that name it."""
    floors: Mapping[str, float]
    left_out: Mapping[str, Any] = field(default_factory=dict)
    """Why drafts were not kept: ambiguities, balance, duplicates, single answers."""
    defects: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    withheld: pl.DataFrame = field(default_factory=lambda: _withheld(DraftTally()))
    """Per track and template that could not be asked of some procedures: of how many, and why."""
    leaks: pl.DataFrame = field(default_factory=lambda: leak_table(()))
    """Per template, how often input-blind predictors are right, and how often they may be."""
    sources: Sequence[str] = ()
    """Data sets, with licence, citation and split."""
    reworded: int = 0
    """Questions for testing in the phrasing of their template that training never shows."""

    def as_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return {
            "options": dict(self.options),
            "questions": int(self.counts["questions"].sum()),
            "sources": list(self.sources),
            "held_out_wordings": self.reworded,
            "floors": dict(self.floors),
            "counts": self.counts.to_dicts(),
            "templates": self.templates.to_dicts(),
            "videos": self.videos.to_dicts(),
            "classes": self.classes.to_dicts(),
            "withheld": self.withheld.to_dicts(),
            "leaks": self.leaks.to_dicts(),
            "left_out": dict(self.left_out),
            "defects": list(self.defects),
            "rules": [rule._asdict() for rule in RULES],
        }

    def as_markdown(self) -> str:
        """The card for readers."""
        by_track = self.counts.group_by("split", "track", maintain_order=True).agg(pl.col("questions").sum())
        by_leaf = self.counts.group_by("capability", maintain_order=True).agg(pl.col("questions").sum())
        by_format = self.counts.group_by("format", maintain_order=True).agg(pl.col("questions").sum())
        parts = [
            "# Data card",
            f"{int(self.counts['questions'].sum())} questions from {self.videos.height} videos.",
            *self.sources,
            f"- test questions in a wording that training never shows (`wording` in their strata): {self.reworded}",
            *(f"- {name}: {value:.3f}" for name, value in self.floors.items()),
            *(
                _section(title, frame)
                for title, frame in (
                    ("By split and track", by_track),
                    ("By capability", by_leaf.sort("capability")),
                    ("By format", by_format),
                    ("Classes", self.classes),
                    ("Templates", self.templates),
                    ("Videos", self.videos),
                    ("Withheld: what was not annotated", self.withheld),
                    ("Right without looking", self.leaks),
                )
            ),
            "## Left out",
            *(f"- {name}: {value}" for name, value in self.left_out.items()),
            "## Defects",
            *([f"- {defect}" for defect in self.defects] or ["None found."]),
            "## Rules on foreign objects",
            *(f"- **{rule.name}**: {rule.text}" for rule in RULES),
        ]
        return "\n".join(parts) + "\n"


def reasons_for_none(card: QuestionCard) -> list[str]:
    """Why a set holds no question: the cause first, then what was withheld, in one line."""
    left_out, withheld = card.left_out, card.withheld.group_by("reason", maintain_order=True)
    kinds = [f"{reason} ({count})" for reason, count in withheld.agg(pl.col("template").n_unique()).iter_rows()]
    doubts, alone = left_out.get("drafts in doubt", {}), left_out.get("templates with one possible answer", {})
    causes = [f"{count} drafts are ambiguous: {reason}" for reason, count in doubts.items()]
    causes += [f"{len(alone)} templates have one possible answer, such as {next(iter(alone.items()))}"] if alone else []
    causes += [f"{card.classes.height} classes are in view" if card.classes.height else "no foreign object is in view"]
    return [
        f"not one question could be made from {card.videos.height} videos and nothing is written: {'; '.join(causes)}",
        f"templates withheld, by reason: {'; '.join(kinds) or 'none'}; say with --annotated what was looked for",
        "ask for more with --per-video and --track, or give more videos",
    ]


def _section(title: str, frame: pl.DataFrame) -> str:
    lines = ["", f"## {title}", "", "| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.iter_rows()]
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def data_card(
    placed: Sequence[Placed],
    videos: Sequence[VideoFacts],
    splits: Splits,
    selections: Mapping[tuple[str, str], Selection],
    tally: DraftTally,
    options: Mapping[str, Any],
    *,
    leaks: Sequence[Leak] = (),
) -> QuestionCard:
    """The card of the chosen questions."""
    asked, guessed = Counter(item.draft.video for item in placed), _best_guesses(leaks)
    above = (f"{name}: {value:.2f}, above {WHOLE_LIMIT}" for name, value in guessed.items() if value > WHOLE_LIMIT)
    return QuestionCard(
        counts=_counts(placed),
        templates=_templates(placed),
        videos=_videos(videos, splits, asked),
        classes=_classes(placed, videos),
        floors=guessed,
        left_out=_left_out(selections, tally),
        sources=tuple(dict.fromkeys(facts.source for facts in videos if facts.source)),
        reworded=sum(item.reworded for item in placed),
        defects=(*_defects(videos, splits, asked), *_unasked(placed, options), *above),
        options=options,
        withheld=_withheld(tally),
        leaks=leak_table(leaks),
    )


def _withheld(tally: DraftTally) -> pl.DataFrame:
    kinds = {"track": pl.String, "template": pl.String, "reason": pl.String, "procedures": pl.Int64}
    return pl.DataFrame([(*key, n) for key, n in sorted(tally.withheld.items())], schema=kinds, orient="row")


def _best_guesses(leaks: Sequence[Leak]) -> dict[str, float]:
    """By split, what the best predictor of each template gets right of all questions."""
    best: dict[tuple[str, str, str], Leak] = {}
    for leak in leaks:
        key = leak.split, leak.track, leak.template
        if key not in best or leak.accuracy > best[key].accuracy:
            best[key] = leak
    floors = {}
    for split in dict.fromkeys(leak.split for leak in leaks):
        leading = [leak for leak in best.values() if leak.split == split]
        hits = sum(leak.accuracy * leak.questions for leak in leading)
        asked = sum(leak.questions for leak in leading)
        floors[f"{split}, best input-blind predictor of each template"] = hits / asked
    return floors


def _counts(placed: Sequence[Placed]) -> pl.DataFrame:
    counted = Counter(
        (
            p.split,
            p.draft.track.value,
            p.draft.template.capability.code,
            p.draft.template.format,
            p.ood,
            p.draft.template.clinical,
        )
        for p in placed
    )
    columns = ["split", "track", "capability", "format", "ood", "clinical", "questions"]
    rows = [(*key, count) for key, count in sorted(counted.items())]
    return _table(rows, columns)


def _templates(placed: Sequence[Placed]) -> pl.DataFrame:
    groups: dict[tuple[str, str, str], list[AnyDraft]] = defaultdict(list)
    for item in placed:
        groups[item.split, item.draft.track.value, item.draft.template.name].append(item.draft)
    columns = [
        "split",
        "track",
        "template",
        "capability",
        "format",
        "questions",
        "videos",
        "answers",
        "top_answer",
        "constant_floor",
    ]
    rows = []
    for (split, track, name), drafts in sorted(groups.items()):
        template, answers = drafts[0].template, Counter(draft.answer for draft in drafts)
        rows.append(
            (
                split,
                track,
                name,
                template.capability.code,
                template.format,
                len(drafts),
                len({draft.video for draft in drafts}),
                len(answers),
                answers.most_common(1)[0][0],
                answers.most_common(1)[0][1] / len(drafts),
            )
        )
    return _table(rows, columns)


def _videos(videos: Sequence[VideoFacts], splits: Splits, asked: Mapping[str, int]) -> pl.DataFrame:
    columns = ["video", "patient", "procedure_type", "center", "split", "ood", "duration_s", "masked_s", "questions"]
    rows = [
        (
            v.video,
            v.patient,
            v.procedure_type,
            v.center,
            splits.of_video[v.video],
            splits.ood[v.video],
            v.duration_s,
            v.masked_s,
            asked.get(v.video, 0),
        )
        for v in videos
    ]
    return _table(rows, columns)


def _classes(placed: Sequence[Placed], videos: Sequence[VideoFacts]) -> pl.DataFrame:
    columns = ["class", "videos", "seconds_in_view", "questions_naming_it"]
    named = Counter(name for p in placed for key in ("object", "other") if (name := p.draft.slots.get(key)))
    names = sorted({name for facts in videos for name in facts.class_seconds} | set(named))
    rows = [
        (
            name,
            sum(facts.class_seconds.get(name, 0) > 0 for facts in videos),
            sum(facts.class_seconds.get(name, 0) for facts in videos),
            named[name],
        )
        for name in names
    ]
    return _table(rows, columns)


def _left_out(selections: Mapping[tuple[str, str], Selection], tally: DraftTally) -> dict[str, Any]:
    doubts: Counter[str] = Counter()
    for (_, reason), count in tally.doubtful.items():
        doubts[reason] += count
    return {
        "drafts that were clear": sum(tally.clear.values()),
        "drafts in doubt": dict(doubts.most_common()),
        "cut so that no answer is too frequent": sum(sum(s.cut_for_balance.values()) for s in selections.values()),
        "cut because they can be guessed without looking": sum(
            sum(selection.guessable.values()) for selection in selections.values()
        ),
        "near-duplicates skipped": sum(selection.skipped_duplicates for selection in selections.values()),
        "near-duplicates kept": sum(selection.near_duplicates for selection in selections.values()),
        "templates with one possible answer": {
            f"{split}/{track}/{name}": answer
            for (split, track), selection in selections.items()
            for name, answer in selection.single_answer.items()
        },
    }


def _defects(videos: Sequence[VideoFacts], splits: Splits, asked: Mapping[str, int]) -> Iterable[str]:
    for one, other, count in splits.copies:
        yield f"videos {one} and {other} share {count} frames or landmarks; they are kept on the same side"
    if undeclared := [facts.video for facts in videos if not facts.declared]:
        yield (
            f"{len(undeclared)} of {len(videos)} videos do not say what was annotated (first: {undeclared[0]}); no "
            "more than what occurs in them counts as annotated"
        )
    if doubtful := sum(facts.proposed for facts in videos):
        yield f"{doubtful} instances were proposed by a program and confirmed by nobody; their questions are marked"
    if alone := sum(facts.duration_s == 1 and facts.patient == facts.video for facts in videos):
        yield (
            f"of {alone} still images nobody told the patient (--patient-pattern), so images of one patient may be in "
            "train and test"
        )
    for facts in videos:
        if not asked.get(facts.video):
            yield f"video {facts.video} has no question"
        if not any(facts.class_seconds.values()):
            yield f"video {facts.video} never shows a foreign object"


def _unasked(placed: Sequence[Placed], options: Mapping[str, Any]) -> Iterable[str]:
    """Tracks and splits that were wanted and are not there."""
    wanted = [("track", name) for name in options["tracks"]]
    wanted += [("split", "test")] if options["test_share"] > 0 else []
    there = {("track", item.draft.track.value) for item in placed} | {("split", item.split) for item in placed}
    return (f"{kind} {name} has no question" for kind, name in wanted if (kind, str(name)) not in there)


def _table(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> pl.DataFrame:
    kinds = {name: pl.Int64 if name in ("questions", "videos") else pl.String for name in columns}
    return pl.DataFrame(rows, schema=columns, orient="row") if rows else pl.DataFrame(schema=kinds)
