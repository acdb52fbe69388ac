"""Replies in words: the clause is the unit, and it counts for what it asserts.

Not under whether, if, would, may, cannot or a question mark; a refusal asserts nothing; and what a clause denies is
no class among several. English, German, French, Spanish and Chinese.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from surgvalid.asking.reading.names import ClassNames, folded


class Mood(StrEnum):
    """What a clause does with what it names."""

    ASSERTS = "asserts"
    GUESSES = "guesses"
    """Perhaps, maybe: a value that only a guess takes."""
    HEDGES = "hedges"
    ASKS = "asks"
    REFUSES = "refuses"


class Clause(NamedTuple):
    """A clause of a reply."""

    text: str
    mood: Mood

    @property
    def counts(self) -> bool:
        """Whether it asserts."""
        return self.mood is Mood.ASSERTS


_NOT_BUT = re.compile(r"\b(?:anything|everything|all) (?:but|except)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"(?<=[.!?])(?=[\s\"'*)\]]|$)|(?<=[。！？；;])|\n+"
    r"|,?\s+(?=(?:but|however|although|though|while|whereas|aber|sondern|doch|mais|pero|sino)\b)"
    r"|,\s*(?=(?:not|nicht|pas|no)\b)|(?<=\bno),\s|(?<=\byes),\s|(?=但)|,\s+(?=(?:so|therefore|thus|hence|it|this)\b)",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\bi(?:'d| would| might| may| can)? (?:also )?(?:say|answer|rate|choose|go with|classify|assign|call|pick"
    r"|estimate|"
    r"conclude|see|identify|give|place|put|score|grade|count|observe|tell that|confirm|infer)\b"
    r"|\b(?:would|could|might|may) be (?:classified|described|rated|scored|labell?ed|best|my)\b"
    r"|\bcould not be clearer\b"
    r"|\bif (?:you|there are any)\b.{0,30}(?:need|want|like|questions)",
    re.IGNORECASE,
)
_KNOWING = (
    r"(?:\s+\w+){0,4}?\s+(?:assist|help|answer|provide|analy[sz]e|comply|identify|determine|see|view|tell|say|judge|"
    r"assess|predict|verify|access|give|grade|process|classify|rate|recogni[sz]e|evaluate|name|interpret|know|detect|"
    r"discern|make|draw|fulfil|conclude|describe|locate|estimate|count|be (?:determined|assessed|judged|answered|"
    r"identified|seen|told|established|evaluated|ruled|excluded|confirmed|recogni[sz]ed|made out))"
)
_REFUSES = re.compile(
    rf"(?:\bcan(?:no|['’])t|\bcan not|\bcould(?: not|n['’]t)|\bwon['’]t|\bwill not|\bunable to|\bnot able to"
    rf"|\b(?:im|not )possible to|\b(?:do|does|did)(?: not|n['’]t) know|\bnot going to|\bdecline to|\brefuse to)"
    rf"(?:{_KNOWING}|\s*[.!]?\s*$)"
    r"|\bunable\b|\bdon['’]?t know|\bdo not know|\bno idea|\bno (?:way|means) (?:to|of)\b|\bno comment"
    r"|\b(?:no|0|zero) (?:image|picture|video|frame|clip|photo|media|attachment|input)s? (?:is |was |were |has been "
    r"|are |have been )?"
    r"(?:provided|attached|given|supplied|included|uploaded|received|sent|shared|available|here|to\b)"
    r"|\bwithout (?:the|an?|any) (?:image|picture|video|frame|photo)s?\b"
    r"|\bno (?:information|access|data|answer|option|evidence|judg\w+|opinion)\b"
    r"|\bnothing can be (?:said|determined|seen|concluded|told)|\btoo (?:blurr\w+|dark|unclear|low)\b"
    r"|\binsufficient|\bnot enough (?:information|detail|evidence|data)|\bas an? (?:ai|language|text)\b"
    r"|\blanguage model\b|\bplease (?:upload|provide|share|attach)|^\W*n\s*/\s*a\W*$|\bnot applicable\b"
    r"|\bnot answerable"
    r"|^\W*(?:unknown|undetermined|indeterminate|none of the above|not (?:known|visible enough|clear)|cannot say)\b"
    r"|\bagainst (?:my|the) (?:policy|guidelines)|\bcannot\W*$|\bno option\b|\bdon['’]t have (?:access|the ability)"
    r"|\bkann (?:ich )?(?:(?:das|es|dies\w*|den|die) )?(?:\w+ ){0,3}?(?:nicht|kein)|\bkeine? (?:ahnung|angabe"
    r"|bild)|\bweiß (?:es |ich )?nicht"
    r"|\bnicht (?:möglich|erkennbar|beurteil)|\btut mir leid|\bje ne (?:peux|sais|vois|suis|puis)|\bimpossible\b"
    r"|\bpas (?:possible|d'image)|\bdésolé|\bno puedo|\bno sé\b|\bno (?:es posible|se puede|hay imagen)|\bimposible"
    r"|\blo siento|无法|不能|不知道|抱歉|看不|没有(?:图像|图片)|不清楚",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:whether|if|would|cannot|can['’]t|can not|couldn['’]t|could not|unclear|uncertain|unsure|undecided|unknown"
    r"|not (?:sure|certain|clear|possible|confident)|isn['’]t (?:sure|certain|clear)|hard to|difficult to|tough to"
    r"|does(?: not|n['’]t) allow|no conclusion|may or may not|might or might not|either|equally"
    r"|(?:first|initial(?:ly)?) (?:impression|guess|thought|i thought)|i (?:first|initially|originally) thought"
    r"|is (?:the )?(?:lowest|highest|worst)|partially (?:met|achieved|fulfilled"
    r"|satisfied|correct)|partly (?:met|achieved|fulfilled|satisfied|correct)"
    r"|or (?:something|another|similar|some other|other|not)|one of the (?:\w+ )?(?:options|classes|phases"
    r"|choices)|an option|e\.?g"
    r"|defined as|refers to|stands for|definition|such as|for example|e\.g\.|depends|depending|hypothetical\w*|supposed"
    r"|ob|unklar|ungewiss|unsicher|würde|wäre|könnte|falls|entweder|peut être que|incertain|inciert[oa]|incertaine"
    r"|serait|sería|podría|no está claro|dudos[oa])\b|\bsi (?=(?:es|est|c'est|l[ae'o]|un|une|hay|se|il|ce)\b)"
    r"|是否|不确定|如果|难以|不好说|也许不",
    re.IGNORECASE,
)
_GUESSES = re.compile(
    r"\b(?:possible|possibly|maybe|perhaps|may|might|could|potentially|conceivably|vielleicht|möglicherweise|eventuell"
    r"|peut-être|quizás?|tal vez|posiblemente)\b|可能|也许|或许",
    re.IGNORECASE,
)


def clauses(text: str) -> list[Clause]:
    """The clauses of a text with what each does.

    Example:
        >>> [clause.mood.value for clause in clauses("Is it a clip? I cannot tell. It is a clip.")]
        ['asks', 'refuses', 'asserts']
    """
    text = _NOT_BUT.sub("not", text)
    pieces = (piece.strip() for piece in _ENDS.split(text) if piece)
    return [Clause(piece, mood_of(piece)) for piece in pieces if any(letter.isalnum() for letter in piece)]


def mood_of(text: str) -> Mood:
    """What a clause does with what it names."""
    plain = _COMMITTED.sub(" i state ", text)
    if _REFUSES.search(plain):
        return Mood.REFUSES
    if text.rstrip("\"'*`) ").endswith(("?", "？")):
        return Mood.ASKS
    if _HEDGES.search(plain):
        return Mood.HEDGES
    return Mood.GUESSES if _GUESSES.search(plain) else Mood.ASSERTS


def refuses(text: str) -> bool:
    """Whether any clause of a text declines to answer."""
    return any(clause.mood is Mood.REFUSES for clause in clauses(text))


_LOOKS = re.compile(
    r"\b(?:view|see|access|process|analy[sz]e|look at) (?:any |the |this |these |your )?"
    r"(?:image|picture|photo|video|frame)s?\b",
    re.IGNORECASE,
)


def cannot_look(text: str) -> bool:
    """Whether a text declines because of the images themselves: its "no" is then no answer."""
    return _LOOKS.search(text) is not None and refuses(text)


_BEFORE = (
    r"not|isn t|aren t|wasn t|doesn t|don t|no|never|neither|nor|without|excluding|except|unlike|rather than|instead of"
    r"|other than|before|after|prior to|until|past|beyond|follows|following|precedes|preceding|finished|completed"
    r"|lacks?|lacking|absent|missing|absence of|rule out|rules out|excludes?|ruled out|kein\w*|nicht"
    r"|weder|noch|pas|jamais|sin|ni|ohne|sans|antes de|después de|avant|après|vor|nach|aucune?|ning[uú]n\w*|n est"
    r"|没 有|不 是|无|没|不"
)
_DENIED_BEFORE = re.compile(rf"(?<![^\W_])(?:{_BEFORE})(?:\s+(?!and |but |is |are )[^\W_]+){{0,3}}\s*$")
_DENIED_FAR = re.compile(
    r"(?<![^\W_])(?:(?:not|don t|doesn t|didn t) (?:think|believe|see|look)|doubt|doubts|unlikely (?:to|that)|next|than"
    r"|(?:prepare|prepares|preparing) for|preparation for)(?![^\W_])[^.]*$"
)
_DENIED_AFTER = re.compile(
    r"^\s*(?:[^\W_]+\s+){0,5}?(?:not|isn t|aren t|doesn t|never|ruled out|excluded|unlikely|less likely|absent"
    r"|missing|removed|withdrawn|no longer|out of view|ended|nowhere|fails|failed|unfulfilled|unsatisfied|violated"
    r"|false|negative"
    r"|unmet|invisible|finished|completed|complete|over|done|impossible|wrong|incorrect|lacking|nicht|pas"
    r"|ausgeschlossen|exclue?|fehlt"
    r"|no(?= (?:está|es|se|hay)))(?![^\W_])"
)
_JOINED = re.compile(r"\s*(?:(?:and|or|nor|und|oder|et|ou|y|o|和|or a|and a|and an|and the|nor a|a|an|the)\s*)?")


class NamedGroup(NamedTuple):
    """Classes that a clause names in one breath, and whether it denies them."""

    names: tuple[str, ...]
    denied: bool
    either: bool = False
    """Whether it is one of them, and it is not said which."""


def named_groups(clause: str, names: ClassNames) -> list[NamedGroup]:
    """The classes of a clause, in groups that share what is said of them.

    Example:
        >>> named_groups("Grasper and hook are visible", ClassNames(["Grasper", "Hook"]))
        [NamedGroup(names=('Grasper', 'Hook'), denied=False, either=False)]
    """
    plain = folded(clause.replace("/", " or "))
    mentions = names.mentions(plain)
    groups: list[list[int]] = []
    for place, mention in enumerate(mentions):
        between = plain[mentions[place - 1].end : mention.start] if place else ""
        if place and _JOINED.fullmatch(between):
            groups[-1].append(place)
        else:
            groups.append([place])
    made = []
    for number, group in enumerate(groups):
        begin = mentions[groups[number - 1][-1]].end if number else 0
        end = mentions[groups[number + 1][0]].start if number + 1 < len(groups) else len(plain)
        before, after = plain[begin : mentions[group[0]].start], plain[mentions[group[-1]].end : end]
        either = any(" or " in plain[mentions[place - 1].end : mentions[place].start] for place in group[1:])
        names_here = tuple(dict.fromkeys(mentions[place].name for place in group))
        made.append(NamedGroup(names_here, is_denied(before, after), either))
    return made


def is_denied(before: str, after: str) -> bool:
    """Whether what stands between two folded texts is denied by one of them.

    Example:
        >>> is_denied("it is not ", ""), is_denied("", " can be ruled out"), is_denied("it is ", " here")
        (True, True, False)
    """
    before = before[-80:]
    return bool(_DENIED_BEFORE.search(before) or _DENIED_FAR.search(before) or _DENIED_AFTER.search(after[:80]))


_KINDS = (
    r"(?:tools?|instruments?|structures?|anatom\w+|criteri\w+|actions?|objects?|foreign objects?|organs?|items?|classes"
    r"|of (?:them|these|the|those|it)|fremdkörper|instrumente?|werkzeuge?|outils?|objets?|objetos?|herramientas?"
    r"|instrumentos?|estructuras?|boxes|bounding boxes|detections?)"
)
_NOTHING = re.compile(
    rf"^(?:(?:there (?:is|are|s)|i (?:can )?see|i state|the (?:image|frame|picture) (?:shows|contains|has)|it shows"
    rf"|es gibt|es sind|es ist"
    rf"|il n y a|on ne voit|no hay|no se ven?|final answer|answer)\s*)?(?:(?:no|none|keine?|aucune?|ning[uú]n\w*"
    rf"|pas d|zero)"
    rf"(?:\s+(?!(?:except|but|other)\b)[^\W_]+){{0,2}}?\s+{_KINDS}(?![^\W_])|(?:none|nothing|nichts|rien|nada|keine"
    rf"|aucune?|ning[uú]n[oa]?|ning[uú]n)"
    rf"(?:\s+(?:visible|present|seen|detected|here|at all|sichtbar|of the kind|zu sehen|is visible|are visible"
    rf"|is present|are present|were found|was found))?$)"
    r"|没 有 任 何|没 有 (?:器 械|工 具|异 物|物 体)|^无$|^没 有$"
)


def says_nothing_is_there(clause: str) -> bool:
    """Whether a clause says that none of what was asked for is there.

    Example:
        >>> says_nothing_is_there("There are no tools."), says_nothing_is_there("There is no hook.")
        (True, False)
    """
    return _NOTHING.search(folded(clause)) is not None
