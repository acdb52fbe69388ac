"""Questions on what lies on, in front of and at what in an image, where a scene tells its relations (1d, 1e, 4a)."""

from __future__ import annotations

from bisect import bisect_left
from itertools import product

from surgvalid.questions.answers import proof, yes_no
from surgvalid.questions.object_recognition import MOST_CHOICES
from surgvalid.questions.proposals import (
    object_in_view,
)
from surgvalid.questions.template import (
    FRAME,
    Draw,
    Needs,
    Proof,
    QuestionScene,
    QuestionTemplate,
    Slots,
    TemplateAnswer,
)
from surgvalid.schema.procedures.tracks import SceneFact, SceneRelation
from surgvalid.schema.questions.taxonomy import Capability

_TOOL = "_hand"
"""Between an instrument's class and its hand, in its name among relations."""
UNTOUCHED = "none of them"


def _facts_of(scene: QuestionScene, *relations: SceneRelation) -> list[SceneFact]:
    """What is told of the image, of these kinds."""
    facts = scene.ledger.procedure.relations  # in order of time
    low, high = (bisect_left(facts, (second,)) for second in (scene.second, scene.second + 1))
    return [fact for fact in facts[low:high] if not relations or fact.relation in relations]


def _called(scene: QuestionScene, name: str) -> str:
    """What a question calls a thing of the image."""
    entry = next((entry for entry in scene.ledger.entries if entry.instance == name), None)
    return name.partition(_TOOL)[0].replace("_", " ") if entry is None else entry.class_name.lower()


def _structures(scene: QuestionScene) -> list[str]:
    """The anatomical structures that are visible."""
    return sorted(fact.subject for fact in _facts_of(scene, SceneRelation.VISIBLE) if _TOOL not in fact.subject)


def _with_choices(slots: Slots, right: str, others: list[str], draw: Draw) -> list[Slots]:
    """The slots with options, where there are two at least."""
    rest = sorted({*others} - {right})
    drawn = [rest[at] for at in draw.permutation(len(rest))[: MOST_CHOICES - 1]]
    return [{**slots, "options": tuple(sorted([right, *drawn]))}] if drawn else []


def lies_on(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """What the only object of a class in view rests on."""
    entry = scene.the_one(slots["object"], scene.second)
    below = [fact.object for fact in _facts_of(scene, SceneRelation.ON) if entry and fact.subject == entry.instance]
    return TemplateAnswer(_called(scene, below[0]), proof([entry], [scene.second])) if entry and below else None


def resting(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An object in view that rests on something, with what is visible to choose from."""
    slots_list: list[Slots] = []
    for slots in object_in_view(scene, draw):
        if answer := lies_on(scene, slots):
            slots_list += _with_choices({"object": slots["object"]}, answer.text, _structures(scene), draw)
    return slots_list


def in_front(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Which of an object and a structure or instrument is in front where they meet."""
    entry = scene.the_one(slots["object"], scene.second)
    facts = _facts_of(scene, SceneRelation.BEFORE) if entry else []
    pairs = {(fact.subject, fact.object) for fact in facts}
    named = {name for pair in pairs for name in pair if _called(scene, name) == slots["structure"]}
    if entry is None or (_TOOL in "".join(named) and len(_hands(scene, slots["structure"])) != 1):
        return None
    mine = [entry.instance]
    ways = [not pairs.isdisjoint(product(*two)) for two in ((mine, named), (named, mine))]
    texts = entry.class_name.lower(), slots["structure"]
    return TemplateAnswer(texts[ways.index(True)], proof([entry], [scene.second])) if sum(ways) == 1 else None


def overlapping(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """An object in view and something that it meets in the image."""
    met = {
        _called(scene, name) for fact in _facts_of(scene, SceneRelation.BEFORE) for name in (fact.subject, fact.object)
    }
    names = sorted(met - {kind.name.lower() for kind in scene.ledger.objects})
    drawn = [
        (slots["object"], names[at]) for slots in object_in_view(scene, draw) for at in draw.permutation(len(names))
    ]
    listed: list[Slots] = [
        {"object": one, "structure": name, "options": tuple(sorted((one.lower(), name)))} for one, name in drawn
    ]
    return [slots for slots in listed if in_front(scene, slots)]


def _hands(scene: QuestionScene, tool: str) -> list[str]:
    """The instruments of a class that are visible."""
    visible = (fact.subject for fact in _facts_of(scene, SceneRelation.VISIBLE) if _TOOL in fact.subject)
    return [name for name in visible if _called(scene, name) == tool]


def touched(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Which structure the only instrument of its class touches."""
    hands = _hands(scene, slots["tool"])
    facts = [f for f in _facts_of(scene, SceneRelation.TOUCHES, SceneRelation.MAY_TOUCH) if f.subject in hands]
    if len(hands) != 1:
        return None
    sure = len(facts) == sum(fact.relation is SceneRelation.TOUCHES for fact in facts) <= 1
    text = facts[0].object if facts else UNTOUCHED
    return TemplateAnswer(text, Proof(seconds=(scene.second,)), None if sure else "it may touch something else, too")


def touching(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A visible instrument, with visible structures to choose from."""
    tools = sorted({_called(scene, f.subject) for f in _facts_of(scene, SceneRelation.VISIBLE) if _TOOL in f.subject})
    slots_list: list[Slots] = []
    for at in draw.permutation(len(tools)):
        if answer := touched(scene, slots := {"tool": tools[at]}):
            slots_list += _with_choices(slots, answer.text, [*_structures(scene), UNTOUCHED], draw)
    return slots_list


def structure_visible(scene: QuestionScene, slots: Slots) -> TemplateAnswer | None:
    """Whether an anatomical structure can be seen."""
    facts = {fact.subject: fact.relation for fact in _facts_of(scene) if not fact.object}
    doubt = "too little of it shows" if facts.get(slots["structure"]) is SceneRelation.DOUBTFUL else None
    return yes_no(slots["structure"] in facts, Proof(seconds=(scene.second,)), doubt=doubt) if facts else None


def known_structures(scene: QuestionScene, draw: Draw) -> list[Slots]:
    """A structure that is seen at some time of the procedure."""
    names = sorted({f.subject for f in scene.ledger.procedure.relations if not f.object and _TOOL not in f.subject})
    return [{"structure": names[at]} for at in draw.permutation(len(names))[:1]]


A = Capability
TEMPLATES: tuple[QuestionTemplate, ...] = (
    QuestionTemplate(
        "lies-on",
        A.SPATIAL_LOCALIZATION_SITUS,
        (FRAME,),
        "multiple_choice",
        (
            "What does the {object} lie on {here}?",
            "On what does the {object} rest that is visible {here}?",
            "Name what lies directly under the visible {object}.",
            "Which of these is the {object} {here} lying on?",
            "The {object} {here} lies on something. What is under it?",
        ),
        resting,
        lies_on,
        needs=Needs(relations=True, certain=("instances",)),
    ),
    QuestionTemplate(
        "in-front",
        A.SPATIAL_LOCALIZATION_CAMERA,
        (FRAME,),
        "multiple_choice",
        (
            "Where the {object} and the {structure} meet {here}, which of them is in front?",
            "Which is nearer to the camera where they meet {here}, the {object} or the {structure}?",
            "The outlines of the {object} and the {structure} meet {here}. Which one covers the other?",
            "Name which is in front where the {object} meets the {structure} {here}.",
            "The {object} or the {structure}: which lies in front of the other where they meet {here}?",
        ),
        overlapping,
        in_front,
        needs=Needs(relations=True, certain=("instances",)),
    ),
    QuestionTemplate(
        "touched",
        A.FO_INTERACTION_RECOGNITION,
        (FRAME,),
        "multiple_choice",
        (
            "Which structure does the {tool} touch {here}?",
            "With which of these is the {tool} in contact {here}?",
            "Name the structure that the {tool} touches {here}.",
            "What is touched by the {tool} {here}?",
            "Is the {tool} in contact with one of these structures {here}, and with which?",
        ),
        touching,
        touched,
        needs=Needs(relations=True),
    ),
    QuestionTemplate(
        "structure-visible",
        A.OBJECT_IDENTIFICATION,
        (FRAME,),
        "binary",
        (
            "Is the {structure} visible {here}?",
            "Can one see the {structure} {here}?",
            "Does this image show the {structure}?",
            "Is any part of the {structure} in view {here}?",
            "Could one point at the {structure} {here}?",
        ),
        known_structures,
        structure_visible,
        clinical=True,
        needs=Needs(relations=True),
    ),
)
