"""The data card: what a set of questions holds, how far one comes without looking, what was left out.

How far one comes is what the predictors of `blind_guesses` reach, template by template; `surgvalid score baselines`
computes further ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from surgvalid.questions.balancing import Selection
from surgvalid.questions.blind_guesses import WHOLE_LIMIT, Leak, leak_table, leaks_of
from surgvalid.questions.drafts import Draft, DraftTally
from surgvalid.questions.splits import Splits, VideoFacts
from surgvalid.questions.text_only import LEAST
from surgvalid.schema.procedures.ledger import RULES


class Placed(NamedTuple):
    """A chosen draft with its split and whether it is out of distribution."""

    draft: Draft
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
    title: str = ""
    """Of a later version: what it is."""

    def as_dict(self) -> dict[str, Any]:
        """The card as plain data."""
        return {
            **({"title": self.title} if self.title else {}),
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
        withheld = self.withheld.group_by("track", "reason", "procedures", maintain_order=True)
        best = self.leaks.sort("accuracy", descending=True, maintain_order=True)
        best = best.unique(("split", "track", "template"), keep="first", maintain_order=True)
        parts = [
            "# Data card",
            f"{int(self.counts['questions'].sum())} questions from {self.videos.height} videos.",
            *((self.title, _AGAIN) if self.title else ()),
            *self.sources,
            f"- test questions in a wording that training never shows (`wording` in their strata): {self.reworded}",
            *(f"- right without looking: {name}: {value:.3f}" for name, value in self.floors.items()),
            *(
                _section(title, frame, note)
                for title, frame, note in (
                    ("By split and track", by_track, ""),
                    ("By capability", by_leaf.sort("capability"), ""),
                    ("By format", by_format, ""),
                    ("Classes", self.classes, ""),
                    ("Templates", self.templates, "`constant_floor`: the share of the most frequent answer."),
                    ("Right without looking", best.sort("split", "track", "template"), _BLIND),
                    ("Videos", self.videos, ""),
                    ("Withheld: what was not annotated", withheld.agg(pl.col("template").str.join(", ")), ""),
                )
            ),
            "## Left out",
            *_listed(self.left_out),
            "",
            "## Defects",
            *([f"- {defect}" for defect in self.defects] or ["None found."]),
            "",
            "## Rules on foreign objects",
            *(f"- **{rule.name}**: {rule.text}" for rule in RULES),
        ]
        return "\n".join(parts) + "\n"


_AGAIN = (
    "Numbers are of this version; what was withheld or left out, and defects of the annotations, are those of the set "
    "that was first made."
)
_BLIND = (
    "The best predictor of each template that reads the question and sees nothing; `data_card.json` has all. They are "
    "fitted on the questions for training and told on those for testing; on training itself they are fitted on half of "
    "the videos and told on the other, which lies below chance where answers are balanced. `low` and `high` are the "
    "95 % interval over patients, or videos where nobody tells the patient; `limit` is how often they may be right."
)


def _listed(facts: Mapping[str, Any]) -> Iterable[str]:
    """Counts as list items, those of a kind below it."""
    for name, value in facts.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        yield f"- {name}:{'' if inner or value == {} else f' {value}'}{' none' if value == {} else ''}"
        yield from (f"    - {kind}: {count}" for kind, count in inner)


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


def _section(title: str, frame: pl.DataFrame, note: str = "") -> str:
    lines = [
        "",
        f"## {title}",
        "",
        *([note, ""] if note else []),
        "| " + " | ".join(frame.columns) + " |",
        "|" + "---|" * frame.width,
    ]
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
    asked = Counter(item.draft.video for item in placed)
    return QuestionCard(
        **_of_questions(placed, leaks),
        videos=_videos(videos, splits, asked),
        classes=_classes(placed, videos),
        left_out=_left_out(selections, tally),
        sources=tuple(dict.fromkeys(facts.source for facts in videos if facts.source)),
        defects=(*_defects(videos, splits, asked), *_unasked(placed, videos, options), *over_limits(leaks)),
        options=options,
        withheld=_withheld(tally),
    )


def card_again(
    before: Mapping[str, Any], placed: Sequence[Placed], videos: Mapping[str, str], leaks: Sequence[Leak], title: str
) -> QuestionCard:
    """The card of a later version: its questions are counted again, all else is as it was told.

    Args:
        before: The card of the version before, as `as_dict` has it.
        placed: The questions of this one.
        videos: The type of procedure of every video that is asked about.
        leaks: How far input-blind predictors come on them.
        title: What the version is.
    """
    asked, named = Counter(item.draft.video for item in placed), _named(placed)
    known = before.get("videos") or [{"video": video, "procedure_type": kind} for video, kind in videos.items()]
    classes = before.get("classes") or [{"class": name} for name in sorted(named)]
    earlier = (text for text in before.get("defects", ()) if _OVER not in text)
    return QuestionCard(
        **_of_questions(placed, leaks),
        videos=pl.DataFrame([{**row, "questions": asked[row["video"]]} for row in known]),
        classes=pl.DataFrame([{**row, "questions_naming_it": named[row["class"]]} for row in classes]),
        left_out=before.get("left_out", {}),
        sources=before.get("sources", ()),
        defects=(*over_limits(leaks), *earlier),
        options=before.get("options", {}),
        withheld=pl.DataFrame(before.get("withheld", ()), schema=_WITHHELD),
        title=title,
    )


def _of_questions(placed: Sequence[Placed], leaks: Sequence[Leak]) -> dict[str, Any]:
    """What a card says of its questions alone."""
    return {
        "counts": _counts(placed),
        "templates": _templates(placed),
        "floors": {f"{split}, best of each template": value for split, value in _best_guesses(leaks).items()},
        "reworded": sum(item.reworded for item in placed),
        "leaks": leak_table(leaks),
    }


def leaks_among(
    placed: Sequence[Placed], types: Mapping[str, str], patients: Mapping[str, str], blind_share: float
) -> list[Leak]:
    """How every input-blind predictor does on every template, by split; intervals are over patients."""
    train = [item.draft for item in placed if item.split == "train"]
    return [
        leak
        for split in dict.fromkeys(item.split for item in placed)
        for leak in leaks_of(
            split, [i.draft for i in placed if i.split == split], train, types, blind_share, patients=patients
        )
    ]


_OVER = "right without looking, above"


def over_limits(leaks: Sequence[Leak]) -> list[str]:
    """What input-blind predictors get right more often than they may: templates asked often enough, and splits."""
    templates = [
        f"{one.split}/{one.track}/{one.template}: {one.accuracy:.2f} of {one.questions} {_OVER} {one.limit:.2f}"
        for one in _best(leaks)
        if one.accuracy > one.limit and one.questions >= LEAST
    ]
    whole = _best_guesses(leaks).items()
    return templates + [f"{name}: {value:.2f} {_OVER} {WHOLE_LIMIT}" for name, value in whole if value > WHOLE_LIMIT]


_WITHHELD = {"track": pl.String, "template": pl.String, "reason": pl.String, "procedures": pl.Int64}


def _withheld(tally: DraftTally) -> pl.DataFrame:
    return pl.DataFrame([(*key, n) for key, n in sorted(tally.withheld.items())], schema=_WITHHELD, orient="row")


def _best(leaks: Sequence[Leak]) -> list[Leak]:
    """By template, the predictor that is right most often."""
    best: dict[tuple[str, str, str], Leak] = {}
    for leak in leaks:
        key = leak.split, leak.track, leak.template
        if key not in best or leak.accuracy > best[key].accuracy:
            best[key] = leak
    return list(best.values())


def _best_guesses(leaks: Sequence[Leak]) -> dict[str, float]:
    """By split, what the best predictor of each template gets right of all questions."""
    floors = {}
    for split in dict.fromkeys(leak.split for leak in leaks):
        leading = [leak for leak in _best(leaks) if leak.split == split]
        hits = sum(leak.accuracy * leak.questions for leak in leading)
        floors[split] = hits / sum(leak.questions for leak in leading)
    return floors


def _asked(placed: Sequence[Placed]) -> pl.DataFrame:
    """One row per question."""
    kinds = dict.fromkeys(("split", "track", "capability", "template", "format", "video", "answer"), pl.String)
    rows = [
        (p.split, d.track.value, t.capability.code, t.name, t.format, d.video, d.answer, p.ood, t.clinical)
        for p in placed
        for d, t in ((p.draft, p.draft.template),)
    ]
    return pl.DataFrame(rows, schema={**kinds, "ood": pl.Boolean, "clinical": pl.Boolean}, orient="row")


def _counts(placed: Sequence[Placed]) -> pl.DataFrame:
    columns = ["split", "track", "capability", "format", "ood", "clinical"]
    return _asked(placed).group_by(columns).agg(questions=pl.len().cast(pl.Int64)).sort(columns)


def _templates(placed: Sequence[Placed]) -> pl.DataFrame:
    columns = ["split", "track", "template", "capability", "format"]
    top = pl.col("answer").value_counts(sort=True).first()
    counts = [pl.len().cast(pl.Int64).alias("questions"), *(pl.col(n).n_unique().alias(f"{n}s") for n in _COUNTED)]
    counted = _asked(placed).group_by(columns).agg(*counts, top=top).sort(columns).unnest("top")
    share = (pl.col("count") / pl.col("questions")).alias("constant_floor")
    return counted.select(*columns, "questions", "videos", "answers", pl.col("answer").alias("top_answer"), share)


_COUNTED = ("video", "answer")


def _videos(videos: Sequence[VideoFacts], splits: Splits, asked: Mapping[str, int]) -> pl.DataFrame:
    names = ("video", "patient", "procedure_type", "center", "duration_s", "masked_s")
    kinds = dict.fromkeys(("video", "patient", "procedure_type", "center", "split"), pl.String)
    numbers = dict.fromkeys(("duration_s", "masked_s", "questions"), pl.Int64)
    rows = [
        {name: getattr(v, name) for name in names}
        | {"split": splits.of_video[v.video], "ood": splits.ood[v.video], "questions": asked.get(v.video, 0)}
        for v in videos
    ]
    return pl.DataFrame(rows, schema={**kinds, "ood": pl.Boolean, **numbers})


def _named(placed: Sequence[Placed]) -> Counter[str]:
    return Counter(name for p in placed for key in ("object", "other") if (name := p.draft.slots.get(key)))


def _classes(placed: Sequence[Placed], videos: Sequence[VideoFacts]) -> pl.DataFrame:
    named, seconds = _named(placed), [facts.class_seconds for facts in videos]
    names = sorted({name for known in seconds for name in known} | set(named))
    rows = [
        (name, sum(one.get(name, 0) > 0 for one in seconds), sum(one.get(name, 0) for one in seconds), named[name])
        for name in names
    ]
    kinds = {"class": pl.String, **dict.fromkeys(("videos", "seconds_in_view", "questions_naming_it"), pl.Int64)}
    return pl.DataFrame(rows, schema=kinds, orient="row")


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
            "more than what occurs in them counts as annotated; say it with --annotated, such as --annotated classes"
        )
    if doubtful := sum(facts.proposed for facts in videos):
        yield f"{doubtful} instances were proposed by a program and confirmed by nobody; their questions are marked"
    if alone := sum(facts.duration_s == 1 and facts.patient == facts.video for facts in videos):
        yield (
            f"of {alone} still images nobody told the patient (--patient-pattern), so images of one patient may be in "
            "train and test"
        )
    unasked = [facts.video for facts in videos if not asked.get(facts.video)]
    empty = [facts.video for facts in videos if not any(facts.class_seconds.values())]
    for named, text in ((unasked, "have no question"), (empty, "never show a foreign object")):
        if named:
            yield f"{len(named)} of {len(videos)} videos {text} (first: {named[0]})"


def _unasked(placed: Sequence[Placed], videos: Sequence[VideoFacts], options: Mapping[str, Any]) -> Iterable[str]:
    """Tracks and splits that were wanted and are not there; images alone have no other track than that of frames."""
    stills = all(facts.duration_s == 1 for facts in videos)
    wanted = [("track", name) for name in options["tracks"] if name == "frame" or not (stills and videos)]
    wanted += [("split", "test")] if options["test_share"] > 0 else []
    there = {("track", item.draft.track.value) for item in placed} | {("split", item.split) for item in placed}
    return (f"{kind} {name} has no question" for kind, name in wanted if (kind, str(name)) not in there)
