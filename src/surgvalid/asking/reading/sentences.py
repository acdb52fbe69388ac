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
_NOTHING_BUT = re.compile(
    r"\b(?:nothing|none|no (?:\w+ )?\w+) (?:(?:else )?(?:but|except|besides)|other than)\b|\b(?:keine?|aucune?"
    r"|ning[uú]n\w*|no hay) (?:\w+ )?\w+ (?:außer|sauf|hormis|excepto|salvo)\b|\bnichts (?:außer|als)\b"
    r"|\brien (?:d['’]autre )?que\b|\bnada más que\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\be\.\s?g\b\.?|\bz\.\s?B\b\.?|\bp\.\s?ej\b\.?", re.IGNORECASE)
_OF_THE_VIDEO = re.compile(
    r"\bvideo[- ]clips?\b|\b(?:in|from|throughout|during|across) (?:this|the|your) (?:\w+ )?clip\b|\bthis clip\b"
    r"|\b(?:en el|en este|dans le|dans ce|im|in diesem) clip\b|\b(?:the|your) clip (?=(?:that )?you\b)|\byour clip\b"
    r"|\bclip(?= (?:is|was|lasts|runs) (?:\w+ )?(?:too |\d|short\b|long\b|dark\b|from\b))",
    re.IGNORECASE,
)
"""A clip that is the video and nothing in it."""
_ENDS = re.compile(
    r"(?<=[.!?])(?=[\s\"'*)\]]|$)|(?<=[。！？；;])|\n+|,?\s+(?=(?:but|however|although|though|yet(?= (?:it|this|that"
    r"|the)\b)|while|whereas|aber"
    r"|sondern|doch|mais|pero|sino)\b)|(?:,\s*|\s+(?=\())(?=\(?(?:not|nicht|pas|no)\b)|(?<=\bno),\s|(?<=\byes),\s"
    r"|(?=但|而是|sino)"
    r"|,\s+(?=(?:so|therefore|thus|hence|it|this)\b)",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\bi(?:'d| would| might| may| can)? (?:also )?(?:say|answer|rate|choose|go with|classify|assign|call|pick"
    r"|estimate|conclude|see|identify|give|place|put|score|grade|count|observe|tell that|confirm|infer)\b|\b(?:would"
    r"|could|might|may) be (?:classified|described|rated|scored|labell?ed|best|my)\b|\bbest (?:guess|answer|estimate"
    r"|bet) (?:would be|may be)\b|\bcould not be clearer\b"
    r"|最有?可能|很可能|\bif (?:you|there are any)\b.{0,30}(?:need|want|like|questions)",
    re.IGNORECASE,
)
_KNOWING = (
    r"(?:\s+\w+){0,4}?\s+(?:assist|help|answer|provide|analy[sz]e|comply|identify|determine|see|view|open|load|watch"
    r"|inspect|tell|say|judge|assess|predict|verify|access|give|grade|process|classify|rate|recogni[sz]e|evaluate"
    r"|name|interpret|know|detect|discern|make|draw|fulfil|conclude|describe|locate|estimate|count|be (?:determined"
    r"|assessed|judged|answered|identified|seen|told|established|evaluated|ruled|excluded|confirmed|recogni[sz]ed"
    r"|made out))"
)
_NOTHING_OF = (
    r"(?:\b(?:no|0|zero|kein\w*|aucune?|ning[uú]n\w*|without|ohne|sans|sin)\s+(?:the\s|an?\s"
    r"|any\s)?(?:[^\W\d_]+\s+)??|\bpas d['e]\s?)(?:image|picture|photo|video|frame|media|attachment|input"
    r"|information\w*|access|data|answer|option|evidence|judg\w+|opinion|comment|idea|response|reply|context|question"
    r"|problem|worrie|way|file|upload|need|means|clue|conclusion|number|bild\w*|datei\w*|ahnung|angabe|antwort"
    r"|kommentar|aussage|zahl|idée|réponse|vidéo|accès|commentaire|imagen|imágene|respuesta|vídeo|información|acceso"
    r"|comentario|dato)[sn]?\b|没有(?:任何|提供|收到)*(?:图像|图片|视频|画面|答案|信息|办法)"
)
"""Nothing of what one looks at or speaks of, which says nothing about what is seen."""
_REFUSES = re.compile(
    rf"(?:\bcan(?:no|['’])t|\bcan not|\bcould(?: not|n['’]t)|\bwon['’]t|\bwill not|\bunable to|\bnot able to|\b(?:im"
    rf"|not )possible to|\b(?:do|does|did)(?: not|n['’]t) know|\bnot going to|\bdecline to|\brefuse to)(?:{_KNOWING}"
    rf"|\s*[.!]?\s*$)|\bunable\b|\bdon['’]?t know|\bdo not know|{_NOTHING_OF}"
    r"|\bno \w+ (?:was|were|has been|have been) (?:passed|provided|given|sent|supplied|attached|shared|uploaded"
    r"|received)\b|\b(?:file|image|video|datei|bild|fichier|archivo|imagen)\b.{0,30}\b(?:corrupt\w*|damaged|broken"
    r"|beschädigt|corrompue?|endommagée?|dañad[oa])\b|\bno estoy (?:capacitad[oa]|en condiciones|autorizad[oa])\b"
    r"|\b(?:no|0|zero) clips? (?:is |was |were |has been |are |have been )?(?:provided|attached|given|supplied"
    r"|included|uploaded|received|sent|shared|available|here|to\b)|\bnothing (?:was|is|has been) (?:shown|sent|given"
    r"|attached)\b|\bnothing (?:further|more|to (?:add|go on|see|work with))\b|\b(?:black|blank|empty|white) (?:image"
    r"|frame|picture|screen)\b|\b(?:image|frame|picture|video|screen) (?:is|appears|seems) (?:\w+ )?(?:black|blank"
    r"|empty|white)\b|\bnothing can be (?:said|determined|seen|concluded|told)|\btoo (?:blurr\w+|dark|unclear|low)\b"
    r"|\binsufficient|\bnot enough (?:information|detail|evidence|data)|\bas an? (?:ai|language|text)\b"
    r"|\bals sprachmodell|\ben tant que (?:modèle|ia)\b|\bcomo (?:modelo|ia)\b|作为.{0,6}模型|\b(?:image|picture"
    r"|video|file|bild|datei|imagen)s? (?:(?:is|are|was|were) (?:missing|absent)|fehlt|falta)\b|\bje n['’]ai pas\b"
    r"|\bnone of the (?:image|frame|picture|video|file)s\b|\b(?:delivered|sent|provided|transmitted|supplied) to me\b"
    r"|\blanguage model\b|\bplease (?:upload|provide|share|attach|send|give|describe|show)|^\W*n\s*/\s*a\W*$"
    r"|\bnot applicable\b|\bnot answerable|^\W*(?:unknown|undetermined|indeterminate|none of the above|not (?:known"
    r"|visible enough|clear)|cannot say)\b|\bagainst (?:my|the) (?:policy|guidelines)|\bcannot\W*$"
    r"|\bdon['’]t have (?:access|the ability)|\bkann (?:ich )?(?:(?:das|es|dies\w*|den|die) )?(?:\w+ ){0,3}?(?:nicht"
    r"|kein)|\bweiß (?:es |ich )?nicht|\bnicht (?:möglich|erkennbar|beurteil)|\btut mir leid|\bje ne (?:peux|sais"
    r"|suis|puis|vois(?! (?:pas|aucune?) (?:de |d['’])?(?!image|vidéo|photo|l['’ea])))|\bimpossible\b|\b(?:no ?one"
    r"|nobody|niemand|nadie) (?:can|could|would|knows?|kann|weiß|puede|sabe)\b|\b(?:send|upload|attach) (?:me "
    r"|us )?(?:the|an?|your|that) (?:image|picture|photo|video|frame)|\bpas possible|\bn['’]ai pas accès|\bdésolé"
    r"|\bno puedo|\bno sé\b|\bno (?:(?:me |nos )?es posible|se puede)|\bno tengo acceso|\bimposible|\b(?:envíe"
    r"|adjunte|suba|schicken|senden|laden|envoyez|joignez|veuillez)\w*\b.{0,25}\b(?:imagen|bild|image|vídeo|vidéo"
    r"|video)|请.{0,6}(?:上传|提供|发送)|\blo siento|无法|不能|不知道|抱歉|看不|不清楚",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:whether|if|would|cannot|can['’]t|can not|couldn['’]t|could not|unclear|uncertain|unsure|undecided|unknown"
    r"|not (?:sure|certain|clear|possible|confident)|isn['’]t (?:sure|certain|clear)|hard to|difficult to|tough to"
    r"|does(?: not|n['’]t) allow|no conclusion|may or may not|might or might not|either|equally|(?:first"
    r"|initial(?:ly)?) (?:impression|guess|thought|i thought)|i (?:first|initially|originally) thought"
    r"|is (?:the )?(?:lowest|highest|worst)|partially (?:met|achieved|fulfilled|satisfied|correct)|partly (?:met"
    r"|achieved|fulfilled|satisfied|correct)|or (?:something|another|similar|some other|other|not)"
    r"|one of the (?:\w+ )?(?:options|classes|phases|choices)|an option|e\.?g|defined (?:as|by)|refers to|stands for"
    r"|definition|such as|for example|depends|depending|hypothetical\w*|supposed|por ejemplo|par exemple|zum beispiel"
    r"|wie etwa|none of .{0,40}\bcan be (?:confirmed|excluded|determined|ruled|verified|established)"
    r"|neither (?:be )?(?:confirmed|excluded|ruled)|assum(?:e|ed|es|ing)|provided (?:that|the)|were (?:this"
    r"|it|that)|otherwise|unless|typical(?:ly)?|grundsätzlich|en général|por lo general|normalerweise|usual(?:ly)?"
    r"|common (?!bile|hepatic|duct)\w+|commonly|generally|(?<!as )expected|to look for|looking for|chance|possibility"
    r"|likelihood|uncertainty|question mark|improbable|implausible|(?:an? |the |\w+ )?risk of|(?:you|the (?:user"
    r"|question|prompt)) (?:asks?|asked|wants?|listed|suggests?|mentions?|mentioned)|(?:example|sample) (?:output"
    r"|answer|response|format|reply)|format is|you should (?:return|answer|write|output)|be used next|resembles"
    r"|tell (?:\w+ ){1,6}from|(?:^|but )\W*(?:had|were|should) (?:there|the|it|this|that|i|an?|any|you)|ob|unklar"
    r"|ungewiss|unsicher|würde|wäre|könnte"
    r"|falls (?=(?:es|ein\w*|d(?:er|ie|as)|ich|sie|kein\w*|man|hier|dies\w*)\b)|entweder|peut être que|incertain"
    r"|inciert[oa]|incertaine|serait|sería|podría|no está claro|dudos[oa])\b"
    r"|\bsi (?=(?:es|est|c'est|l[ae'o]|un|une|hay|se|il|ce)\b)|\bne peut (?:pas )?(?:être )?exclu\w*|auszuschließen"
    r"|(?:excluir|descartar)se|no se puede (?:excluir|descartar)|\b(?:requires?|denotes|demands"
    r"|exige|erfordert|verlangt|bedeutet)\b|(?<!this )(?<!that )(?<!which )(?<!it )\bmeans\b(?! of)|\bis (?:the"
    r"|a) \w+ (?:in|during"
    r"|at) which\b|^\W*(?:in|during|während|dans"
    r"|en|durante) (?:la )?(?:phase|stage|step|fase|étape) \w+(?:,| w[ie]rd\w*| (?:is|are|the))\s"
    r"|^\W*during [^,.]{3,60},|\bwas\b.{0,40}\b(?:before|previously|earlier)\b|^\W*\w+s are (?:used|meant"
    r"|designed) (?:to|for)\b|是否|例如|比如|不确定|如果|难以"
    r"|不好说|也许不",
    re.IGNORECASE,
)
_GUESSES = re.compile(
    r"\b(?:possible|possibly|maybe|perhaps|may|might|could|potentially|conceivably|comes? to mind|vielleicht"
    r"|möglicherweise|eventuell|peut-être|quizás?|tal vez|posiblemente)\b|可能|也许|或许",
    re.IGNORECASE,
)


_CHOSEN_FROM = re.compile(
    r"(?:^|(?<=[.!?\n]))\s*(?:between|of|zwischen|entre) [^,.\n]{1,60} (?:and|und|et|y) [^,.\n]{1,60},\s", re.IGNORECASE
)
_NO_DOUBT = re.compile(
    r"\b(?:no|without(?: a| any)?|sans(?: aucun)?|ohne(?: jeden)?|sin(?: ninguna)?) (?:doute|doubt|zweifel|duda)s?\b"
    r"|毫无疑问",
    re.IGNORECASE,
)
_SPOKEN = (
    (_NOT_BUT, "all except"),
    (_NOTHING_BUT, "only"),
    (_NO_DOUBT, "clearly"),
    (_EXAMPLE, "such as"),
    (_OF_THE_VIDEO, "video"),
    (_CHOSEN_FROM, ""),
)
"""Turns of speech and what they mean, before a text is taken apart."""


def clauses(text: str) -> list[Clause]:
    """The clauses of a text with what each does.

    Example:
        >>> [clause.mood.value for clause in clauses("Is it a clip? I cannot tell. It is a clip.")]
        ['asks', 'refuses', 'asserts']
    """
    for pattern, words in _SPOKEN:
        text = pattern.sub(words, text)
    pieces = (piece.strip() for piece in _ENDS.split(text) if piece)
    return [Clause(piece, mood_of(piece)) for piece in pieces if any(letter.isalnum() for letter in piece)]


_REASON = re.compile(r"\b(?:because|weil|parce que?|porque)\b|因为", re.IGNORECASE)
"""What follows is why, and may be uncertain."""


def mood_of(text: str) -> Mood:
    """What a clause does with what it names."""
    plain = _COMMITTED.sub(" i state ", text)
    if _REFUSES.search(plain):
        return Mood.REFUSES
    if text.rstrip("\"'*`) ").endswith(("?", "？")):
        return Mood.ASKS
    plain = _REASON.split(plain)[0] or plain
    if _HEDGES.search(plain):
        return Mood.HEDGES
    return Mood.GUESSES if _GUESSES.search(plain) else Mood.ASSERTS


def refuses(text: str) -> bool:
    """Whether any clause of a text declines to answer."""
    return any(clause.mood is Mood.REFUSES for clause in clauses(text))


_LOOKS = re.compile(
    r"\b(?:view|see|access|process|analy[sz]e|look at|open|voir|ouvrir|analyser|ver|abrir|analizar)\s(?:any |the "
    r"|this |these |your |an? |l[ea]s? |el |l['’]|une? |des )?(?:image|picture|photo|video|frame|attachment|file"
    r"|vidéo|imagen|vídeo|archivo)(?:e?s)?\b|\b(?:bild|bilder|video|datei|anhang)\b.{0,20}\b(?:sehen|öffnen|ansehen"
    r"|analysieren)\b|[看开析].{0,4}(?:图|视频|照片)",
    re.IGNORECASE,
)


def cannot_look(text: str) -> bool:
    """Whether a text declines because of the images themselves: its "no" is then no answer."""
    return _LOOKS.search(text) is not None and refuses(text)


_BEFORE = (
    r"none of|aucun des|keine? (?:der|von)|ningun[oa] de|not|isn t|aren t|wasn t|doesn t|don t|no|never|neither|nor"
    r"|without|excluding|except|unlike|rather than|instead of|other than|before|after|prior to|until|past|beyond"
    r"|follows|following|precedes|preceding|finished|completed|hardly|scarcely|barely|avoid|prevent|keinesfalls"
    r"|keineswegs|opposed to|contrary to|contrast to|gegensatz zu[rm]?|contrairement à|diferencia de|descarto"
    r"|descartamos|j exclus|lacks?|lacking|absent|missing|absence of|rule out|rules out|excludes?"
    r"|ruled out|kein\w*|nicht|weder|noch|pas|jamais|sin|ni|ohne|sans|antes de|después de|avant|après|vor"
    r"|nach(?! (?:oben|unten|links|rechts))"
    r"|aucune?|ning[uú]n\w*|n est|没 有|不 是|无|没|不"
)
_DENIED_BEFORE = re.compile(rf"(?<![^\W_])(?:{_BEFORE})(?:\s+(?!and |but |is |are )[^\W_]+){{0,3}}\s*$")
_DENIED_FAR = re.compile(
    r"(?<![^\W_])(?:(?:not|don t|doesn t|didn t) (?:think|believe|see|look)|doubt|doubts|unlikely (?:to|that)"
    r"|next(?! to)"
    r"|than|(?:prepare|prepares|preparing) for|preparation for|about to|fails to|distinguish\w*"
    r"|differentiat\w*)(?![^\W_])[^.]*$"
)
_DENIED_AFTER = re.compile(
    r"^\s*(?:[^\W_]+\s+){0,5}?(?:not|isn t|aren t|doesn t|never|ruled out|excluded|unlikely|less likely|absent"
    r"|missing|removed|withdrawn|no longer|out of (?:view|sight|the (?:image|picture|question|scene|frame|field))"
    r"|prevented|avoided|scheidet aus|descartad[oa]|ended|vorbei|beendet|abgeschlossen|terminée?|terminad[oa]|nowhere"
    r"|fails|failed|unfulfilled|unsatisfied|violated|false|negative|denied|unmet|invisible|finished|completed"
    r"|complete|over|done|impossible|wrong|incorrect|lacking|nicht|pas|ausgeschlossen|exclue?|fehlt|no(?= (?:está|es"
    r"|se|hay)))(?![^\W_])"
)
_JOINED = re.compile(
    r"\s*(?:(?:and|or|nor|und|oder|et|ou|y|o|和|或|or a|or the|and a|and an|and the|nor a|a|an|the)\s*)?"
)


_OR = re.compile(r" (?:or|oder|ou|o|或) ")


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
        either = any(_OR.search(plain[mentions[place - 1].end : mentions[place].start]) for place in group[1:])
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
    r"(?:tools?|instruments?|structures?|anatom\w+|criteri\w+|kriteri\w+|critères?|acci[oó]n\w*|aktion\w*|actions?"
    r"|objects?|foreign objects?|organs?|items?|classes|of (?:them|these|the|those|it)|fremdkörper|instrumente?"
    r"|werkzeuge?|outils?|objets?|objetos?|herramientas?|instrumentos?|estructuras?|boxes|bounding boxes|detections?"
    r"|corps étrangers?|cuerpos? extraños?)"
)
_NOTHING = re.compile(
    rf"^(?:(?:so|thus|hence|therefore|and|but) )?(?:(?:there (?:is|are|s)|i (?:can )?see|i state|the (?:image|frame"
    rf"|picture) (?:shows|contains|has)|it shows"
    rf"|es gibt|es sind|es ist|il n y a|on ne voit|no hay|no se ven?|final answer|answer)\s*)?(?:(?:no|none|keine?"
    rf"|aucune?|ning[uú]n\w*|pas d|zero|0)(?:\s+(?!(?:except|but|other)\b)[^\W_]+){{0,3}}?\s+{_KINDS}(?![^\W_])|(?:none"
    rf"|nothing|nichts|rien|nada|keine|aucune?|ning[uú]n[oa]?|ning[uú]n)(?:\s+(?:visible|present|seen|detected|here"
    rf"|at all|sichtbar|of the kind|zu sehen|is visible|are visible|is present|are present|were found|was found))?$)"
    r"|没 有 任 何|没 有 (?:[^\W\d] ){0,4}?(?:器 械|工 具|异 物|物 体)"
    r"|^(?:所 有|全 部|三 (?:个|条|项)).*(?:均|都) (?:未|没|不)|^无$|^没 有$"
)


def says_nothing_is_there(clause: str) -> bool:
    """Whether a clause says that none of what was asked for is there.

    Example:
        >>> says_nothing_is_there("There are no tools."), says_nothing_is_there("There is no hook.")
        (True, False)
    """
    return _NOTHING.search(folded(clause)) is not None
