"""The pages of the pitfalls, from the catalogue: an overview, and one page each with its figure."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from surgvalid.audit.answers import QUESTIONS
from surgvalid.audit.guideline import guidelines
from surgvalid.audit.pitfall import CONSEQUENCES, Pitfall
from surgvalid.audit.pitfalls import pitfall_modules

HERE = Path(__file__).parent
_HEAD = """# The 18 pitfalls of validation

Made by `make docs` from the catalogue; a test keeps it true. The list of pitfalls, consequences and risks and the
shares of papers are those of Reinke et al., "Current validation practice undermines surgical AI development" (2025),
who screened the 46 papers on surgical data science at MICCAI 2023; words, checks and figures are ours. `surgvalid
tools list pitfalls` prints the catalogue, [`surgvalid audit`](../how-to/audit-a-study.md) runs the checks.

| pitfall | where | what may follow |
|---|---|---|
"""
_MAPPING = """
Which consequence may follow from which pitfall is drawn in a figure of the source (Fig. 2b) whose marks are not in its
text. Listed here are the consequences that the text names, in the description of the pitfall or in that of the
consequence; they can be fewer.

## Consequences

{consequences}

## Risks

Which of these may follow from which consequence is drawn in the source (Fig. 2c); the lines are not in its text.

{risks}
"""
RISKS = {
    "overestimation": "a model seems better than it is",
    "unfairness": "some groups of patients are served worse",
    "poor generalisation": "it fails in other hospitals, with other devices or teams",
    "limited utility": "it is of no use in the clinic",
    "wrong choice": "a worse model is chosen over a better one",
    "harm": "it adds to errors, complications or unsafe decisions",
    "loss of trust": "clinicians, regulators and investors turn away",
    "stagnation": "research repeats itself",
    "regulatory delay": "approval is refused or takes longer",
    "investment risk": "money is lost on what does not work",
    "no adoption": "nobody uses it",
    "late benefit": "patients and carers gain less, or later",
    "environment": "energy is spent on training without value",
}
"""Risks by a short name; which follows from which consequence is drawn in the source (Fig. 2c), not written."""


class Index(NamedTuple):
    """The overview."""

    PAGE: Path = HERE / "pitfalls" / "index.md"

    def page(self) -> str:
        """The overview as the catalogue is now."""
        entries = [module.ABOUT for module in pitfall_modules()]
        rows = [
            f"| [{one.code} {one.title}]({Path(one.page).name}) | {one.category.value} | "
            f"{', '.join(one.consequences)} |\n"
            for one in entries
        ]
        consequences = "\n".join(f"- **{name}**: {text}" for name, text in CONSEQUENCES.items())
        risks = "\n".join(f"- **{name}**: {text}" for name, text in RISKS.items())
        return _HEAD + "".join(rows) + _MAPPING.format(consequences=consequences, risks=risks)


class PitfallPage(NamedTuple):
    """The page of one pitfall."""

    about: Pitfall
    looks: tuple[tuple[str, bool], ...]
    """What its check looks at, and whether it cannot pass without."""

    @property
    def PAGE(self) -> Path:
        """Where the page lies."""
        return HERE / self.about.page

    def page(self) -> str:
        """The page as the catalogue is now."""
        one = self.about
        name = Path(one.page).stem
        seen = "\n".join(f"- {figure.text}" for figure in one.seen) or "The source gives no figure for it."
        looks = "\n".join(f"- {about}{'' if needed else ' (where the study holds it)'}" for about, needed in self.looks)
        asked = [f"- `{key}`: {question.text}" for key, question in QUESTIONS.items() if question.pitfall == one.code]
        about = f"audit.{one.code}"
        items = ", ".join(
            f"{some.name} {i.number}" for some in guidelines().values() for i in some.items if about in i.facts
        )
        return (
            f"# {one.code} {one.title}\n\n{one.what}\n\n"
            f"![{one.code}: a sound simulated study beside one with this fault](../figures/pitfalls/{name}.svg)\n\n"
            f"*Made by `docs/figures/pitfalls.py` from simulated studies.*\n\n"
            f"**What may follow:** {', '.join(CONSEQUENCES[name] for name in one.consequences)}.\n\n"
            f"## How often\n\n{seen}\n\n## How it is checked\n\n{one.checked}\n\nThe check looks at:\n\n{looks}\n\n"
            + (f"What is asked:\n\n{chr(10).join(asked)}\n\n" if asked else "")
            + f"## How to mend it\n\n{one.fix}\n\n## Items of reporting guidelines\n\n{items}.\n"
        )


def pitfall_pages() -> list[Index | PitfallPage]:
    """Every page, the overview first."""
    pages = [
        PitfallPage(module.ABOUT, tuple((look.about, look.needed) for look in module.LOOKS))
        for module in pitfall_modules()
    ]
    return [Index(), *pages]
