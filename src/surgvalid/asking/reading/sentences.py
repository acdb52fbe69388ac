"""Replies in words: the clause is the unit, and it counts for what it asserts.

Not under whether, if, would, may, cannot or a question mark; a refusal asserts nothing; and what a clause denies is
no class among several. English, German, French, Spanish and Chinese.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from surgvalid.asking.reading.frames import is_framed, marked, without_marks
from surgvalid.asking.reading.names import ClassNames, Mention, folded


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
_ENDS = re.compile(
    r"(?<=[.!?])(?=[\s\"'*)\]]|$)|(?<=[。！？；;])|\n+|,?\s+(?=(?:but|however|although|though|yet(?= (?:it|this|that"
    r"|the)\b)|while|whereas|aber|sondern|doch|mais|pero|sino)\b)|(?:,\s*|\s+(?=\())(?=\(?(?:not|nicht|pas|no)\b)"
    r"|(?<=\bno),\s|(?<=\byes),\s|(?=但|而是|sino)"
    r"|,\s+(?=(?:so|therefore|thus|hence|it|this)\b)",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\bi(?:'d| would| might| may| can)? (?:also )?(?:say|answer|rate|choose|go with|classify|assign|call|pick"
    r"|estimate|conclude|see|identify|give|place|put|score|grade|count|observe|confirm|label|mark|name|judge"
    r"|consider|describe|categori[sz]e)\b|\b(?:would|could|may) be"
    r" (?:classified|described|rated|scored|labell?ed|best|my)\b|\bbest \w+ (?:would|may) be\b"
    r"|\bje (?:mettrais|donnerais|dirais|choisirais)\b|\bich würde (?=.*\b(?:sagen|geben|wählen|vergeben)\b)"
    r"|\b(?:diría|daría|pondría)\b|最有?可能|很可能|\bif (?:you|there are any)\b.{0,30}(?:need|want|like|questions)",
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
    r"|attached)\b|\bnothing (?:is|can be) (?:visible|seen) (?:because|due|since)\b|\b(?:image|picture|video|file"
    r"|frame)s? not (?:found|available|provided|readable)\b|\bnothing (?:further|more"
    r"|to (?:add|go on|see|work with))\b|\b(?:black|blank|empty|white) (?:image"
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
    r"\b(?:whether|if|unless|otherwise|would|cannot|can['’]t|can not|could(?: not|n['’]t)|unclear|un(?:certain"
    r"|sure)\w*|undecided|unknown|(?:not|n['’]t) (?:sure|certain|clear|possible|confident)|(?:hard|difficult|tough)"
    r" to|does(?: not|n['’]t) allow|no conclusion|(?:may|might) or (?:may|might) not|either|equally|(?:first"
    r"|initial(?:ly)?) (?:impression|guess|thought|glance|sight|i thought)|i (?:first|initially|originally) thought"
    r"|or (?:a |an |some )?(?:similar|comparable)|(?:in|for) (?:most|many|some) \w+|always|often|normally|frequently"
    r"|sometimes|part(?:ial)?ly (?:met|achieved|fulfilled|satisfied|correct)|or (?:something|another|other|not)"
    r"|e\.?g|such as|for example|depend\w*|hypothetical\w*|supposed|por ejemplo|par exemple|zum beispiel|wie etwa"
    r"|(?:none of .{0,40}\bcan be|neither(?: be)?) (?:confirmed|excluded|determined|ruled|verified|established)"
    r"|assum\w+|defined|hypothes\w+|ought to|should have|had better|wish\w*|hop(?:e|ing)|den(?:y|ies)|too (?:early"
    r"|late|soon)|ago|far from|not convinced|some (?:call|say|would)|according to|confus\w+|then comes|among others"
    r"|etc|(?:one|another|an?) (?:option|alternative|possibility|guess) (?:is|would)|recommend\w*|required|necessary"
    r"|advis\w+|rarely|seldom|used earlier|(?:caption|reference|label|text|truth|annotations?|report|prompt|data"
    r"|literature) (?:says?|reads?|lists?|includes?|mentions?|states?)|(?:beginning|starting|ending) with|in"
    r" (?:humans|people)|human (?:body|anatomy)|about to|will (?:be|need|use|insert|follow|soon|then|next)|used to"
    r" be|(?<!able )to (?:find|detect|identify|locate|spot|look for|recogni[sz]e)|what (?:looks|seems|appears)"
    r"|(?:list|classes|options|choices|(?<!best )(?<!likely )candidates?|categories) (?:is|are|includes?|contains?)"
    r"|(?:previous|former|last|preceding|earlier)[\w ]{0,20} (?:was|were|had|showed)|provided (?:that|the)"
    r"|typical(?:ly)?|grundsätzlich|en général|por lo general|normalerweise|usual(?:ly)?|generally|common(?:ly)?"
    r" (?!bile|hepatic|duct)\w+|chance|possibility|likelihood|look(?:ing)? for|(?:requires?|needs?|(?<!which"
    r" )(?<!this )(?<!that )means)(?! of)|ha(?:s|ve) to be \w+e[dt]|i['’]d(?! like)|met (?:when|once)|something like"
    r"|on the list|(?:user|prompt|question|people) (?:says?|calls?|claims?)|(?:is|are) needed (?:to|for)|used (?:in"
    r"|for|during) (?:such |laparoscopic )?(?:\w+tom(?:y|ies)|surgery)|^\W*(?:the )?(?:phase|step|stage|gesture"
    r"|action)s? (?:after|before|following|preceding)|^\W*(?:suppose|imagine|compare|contrast)|(?:next|previous"
    r"|preceding|later|earlier|another|other) (?:image|frame|picture|scene|shot)s?|(?:prior to|before|after) this"
    r" (?:frame|image|moment|point)|there should|should be (?:there|visible|present)|(?:nothing to do|in common)"
    r" with|(?:output|answer|response|reply) format|(?:video|procedure|operation|surgery|case) (?:began|begins"
    r"|start(?:s|ed)|opens|opened) with|(?:\w+tom(?:y|ies)|surger(?:y|ies)|procedures|operations|surgeons) (?:us"
    r"|involv|employ|includ)es?|(?:example|sample) (?:output|answer|response|format|reply)|(?<!as )expected|format"
    r" is|you should|(?:you|the (?:user|question|prompt)) (?:asks?|asked|wants?|listed|suggests?|mentions?"
    r"|mentioned)|(?:^|but )\W*(?:had|were|should) (?:there|the|it|this|that|i|an?|any|you)|ob|unklar|ungewiss"
    r"|unsicher|würde|wäre|könnte|falls (?=(?:es|ein\w*|d(?:er|ie|as)|ich|sie|kein\w*|man|hier|dies\w*)\b)|entweder"
    r"|peut être que|inc[ie]+rt\w*|serait|sería|podría|no está claro|dudos[oa])\b|\b(?:(?:examples?|candidates)\s*:"
    r"|earlier,)|\bsi (?=(?:es|est|c'est|l[ae'o]|un|une|hay|se|il|ce)\b)|\bne peut (?:pas )?(?:être )?exclu\w*"
    r"|auszuschließen|(?:excluir|descartar)se|no se puede (?:excluir|descartar)|^\W*(?:in|during|während|dans|en"
    r"|durante) (?:la )?(?:phase|stage|step|fase|étape) \w+(?:,| w[ie]rd\w*| (?:is|are|the))\s|\b(?:was|were"
    r"|had)\b.{0,40}\b(?:before|previously|earlier)\b|\bin (?:the |an? )?(?:previous|preceding"
    r"|earlier) \w+|\bwas told\b|是否|例如|比如|不确定|如果|难以|不好说",
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
    (re.compile(r"\b(?:there (?:isn['’]t|is not)|not) a single\b", re.IGNORECASE), "no"),
    (re.compile(r"\bdo(?:n['’]t| not) see any\b", re.IGNORECASE), "see no"),
    (_EXAMPLE, "such as"),
    (re.compile(r",? (?:rather than|instead of|as opposed to|and not(?: yet)?)(?= )", re.IGNORECASE), ", not"),
    (re.compile(r"^\W*hold on[,.]", re.IGNORECASE), ""),
    (re.compile(r"\bone of(?= \d)", re.IGNORECASE), "among"),
    (re.compile(r"\b(?:absence|lack) of [^,.;:\n]{1,40},\s", re.IGNORECASE), ""),
    (re.compile(r"(?:\.\.\.|…)\s*(?=or\b)", re.IGNORECASE), " "),
    (_CHOSEN_FROM, ""),
    (re.compile(r"\b(?:that['’]s|all) right,", re.IGNORECASE), ""),
    (re.compile(r"\b\w+-(?:shaped|like|sized|based|related|free)\b", re.IGNORECASE), "such"),
    (
        re.compile(
            r"\b(?:in|from|of|throughout|en|dans|im) (?:this|the|your|el|este|le|ce)? ?(?:video[ -])?clip\b"
            r"|\b(?:short|brief|surgical|laparoscopic) clip\b|\bclip (?=of (?:an?|the|\w+ (?:seconds|minutes))\b)"
            r"|\bvideo[ -]clips?\b"
            r"|\b(?:the|this|that|your) clip(?= (?:shows?|contains?|depicts?|displays?)\b)",
            re.IGNORECASE,
        ),
        "here",
    ),
)
"""Turns of speech and what they mean, before a text is taken apart."""


_AFTERTHOUGHT = re.compile(
    r"(?:but |or |and )?(?:i m )?(?:perhaps|maybe|possibly|not (?:quite "
    r"|entirely )?(?:sure|certain)|who knows|vielleicht|peut être|quizás?)(?: not)?"
)
"""Takes back what was said just before."""


def clauses(text: str) -> list[Clause]:
    """The clauses of a text with what each does.

    Example:
        >>> [clause.mood.value for clause in clauses("Is it a clip? I cannot tell. It is a clip.")]
        ['asks', 'refuses', 'asserts']
    """
    for pattern, words in _SPOKEN:
        text = pattern.sub(words, text)
    pieces = (piece.strip() for piece in _ENDS.split(_IF.sub(lambda words: words[0].replace(",", " "), text)) if piece)
    made = [Clause(piece, mood_of(piece)) for piece in pieces if any(letter.isalnum() for letter in piece)]
    return [
        one._replace(mood=after.mood) if one.counts and _AFTERTHOUGHT.fullmatch(folded(after.text)) else one
        for one, after in zip(made, [*made[1:], Clause("", Mood.ASSERTS)], strict=False)
    ]


_IF = re.compile(r"(?:^|(?<=[.!?\n]))\W*(?:if|unless|falls|wenn|si|如果|若)\b[^.!?\n]*,", re.IGNORECASE)
"""A condition holds for what follows it."""
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
    r"none of|aucun des|keine?[sr]? (?:der|von)|ningun[oa] de|not|(?:is|are|was|does|do)n t|no|never|neither|nor"
    r"|without|excluding|except|unlike|(?:less |un)likely|compared (?:with|to)|rather than|instead of|other than"
    r"|before|after|prior to|until|past|follow(?:s|ing)|preced\w+|(?:done|finished|through) with|finished|completed"
    r"|hardly|barely|opposed to|contra\w+ to|gegensatz zu[rm]?|contrairement à|diferencia de|lack\w*|absent|missing"
    r"|absence of|rules? out|exclude[sd]?|ruled out|kein\w*|nicht|weder|noch|pas|jamais|nothing (?:is|was|has been"
    r"|like|points to|suggests|indicates|supports)(?: being)?|never (?:is|are|was)|least likely \w+|least likely is"
    r"|wrong \w+ (?:is|was)|opposite of|skip\w*|discuss\w*|at no \w+(?: is| was| are)?|prevent\w*|avoid\w*|sin|ni"
    r"|ohne|sans|antes de|después de|avant|après|vor|nach(?! (?:oben|unten|links|rechts))|aucune?|ning[uú]n\w*|n est"
    r"|无|没|不"
)
_DENIED_BEFORE = re.compile(rf"(?<![^\W_])(?:{_BEFORE})(?:\s+(?!and |but |is |are )[^\W_]+){{0,3}}\s*$")
_DENIED_FAR = re.compile(
    r"(?<![^\W_])(?:(?:not|[^\W_]+n t) (?:think|believe|see|look|appear|seem|show|contain|include)|doubt|doubts"
    r"|unlikely (?:to|that)|next(?! to)|previous|second (?:choice|best|guess)|runner up|alternative(?:ly)?|than"
    r"|about to|fails to)(?![^\W_])[^.]*$"
)
_DENIED_AFTER = re.compile(
    r"^\s*(?:[^\W_]+\s+){0,5}?(?:not|(?:is|are|does)n t|never|ruled out|excluded|(?:un|less |least )likely|near$"
    r"|imminent|absent|missing|removed|withdrawn|passed|has left|gone|no longer|out of (?:view|sight|the \w+)"
    r"|avoided|scheidet aus|descartad[oa]|ended|vorbei|beendet|abgeschlossen|terminée?|terminad[oa]|nowhere|fail(?:s"
    r"|ed)|un(?:fulfilled|satisfied|met)|violated|false|negative|stopped|ceased|denied|invisible|finished|completed?"
    r"|over|done|impossible|wrong|incorrect|lacking|nicht|pas|ausgeschlossen|exclue?|fehlt|no(?= (?:está|es|se|hay)"
    r"|$))(?![^\W_])"
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
    framed: bool = True
    """Whether the words around them say that they are there, or are the answer."""


def named_groups(clause: str, names: ClassNames, *, thing: bool = False) -> list[NamedGroup]:
    """The classes of a clause, in groups that share what is said of them.

    Args:
        clause: A clause.
        names: What may be named.
        thing: Whether classes are things, which are there where they act.

    Example:
        >>> named_groups("Grasper and hook are visible", ClassNames(["Grasper", "Hook"]))
        [NamedGroup(names=('Grasper', 'Hook'), denied=False, either=False, framed=True)]
    """
    plain = marked(clause.replace("/", " or "))
    mentions = names.mentions(plain)
    groups: list[list[Mention]] = []
    for place, mention in enumerate(mentions):
        between = plain[mentions[place - 1].end : mention.start]
        if place and "¦" not in between and _JOINED.fullmatch(without_marks(between)):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    ends = [0, *(group[-1].end for group in groups)]
    starts = [*(group[0].start for group in groups), len(plain)]
    made = []
    for number, group in enumerate(groups):
        before, after = plain[ends[number] : starts[number]], plain[ends[number + 1] : starts[number + 1]]
        either = _OR.search(plain[starts[number] : ends[number + 1]]) is not None
        denied = is_denied(without_marks(before), without_marks(after))
        named = tuple(dict.fromkeys(one.name for one in group))
        made.append(NamedGroup(named, denied, either, is_framed(before, after, thing=thing)))
    stretches = [plain[:start].count("¦") for start in starts]
    unclear = {stretch for stretch, one in zip(stretches, made, strict=False) if not (one.framed or one.denied)}
    return [
        one._replace(framed=one.framed and stretch not in unclear)
        for stretch, one in zip(stretches, made, strict=False)
    ]


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
