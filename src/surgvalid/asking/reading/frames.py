"""Whether the words around a name say that it is there, or that it is the answer.

A list of the words that take an assertion back never ends; the ways to make one are few. So a name counts where it
stands alone between marks, behind a verb of being, showing or choosing, or before one that says it is there. Between
verb and name stand articles, words for the kind of thing, and adjectives; behind the name nothing, or a word of
grammar: another noun would make it a different thing. All else asserts nothing, whatever it means.
"""

from __future__ import annotations

import re

from surgvalid.asking.reading.names import folded

_ARTICLES = (
    r"a|al|an|both|das|dem|den|der|die|diese|dieser|ein|eine|einem|einen|el|its|l|la|las|le"
    r"|les|los|my|one|several|some|that|the|these|this|three|two|un|una|une|一|个|把|该"
)
_KINDS = (
    r"acción|action|again|also|answer|best|called|category|clairement|claramente|class|clearly|criteri(?:on|um|a)"
    r"|criterio|critère|current|currently|d|de|definitely|du|eindeutig|fase|final|first|gesture|grade|here|indeed|it"
    r"|just|label|lediglich|letter|level|likely|more|most|name|named|note|now|number|nummer|numéro|nur|número"
    r"|obviously|of|once|only|option|pair|phase|phases|probably|que|rating|score|seul|seule|solo|stage|step|surgical"
    r"|sólo|tipo|typ|type|visible|段|第|阶"
)
_VERBS = (
    r"(?:rate|give|grade|score|award|assign) (?:this|the|it|them|her|him)(?: (?!an? )\S+){0,3}|agit|als|aparece"
    r"|apparaît|appears|applies|carries|grasps|grips|inserts|introduces|lifts|parece|places|pulls|pushes|am|and|are"
    r"|as|assign|be|been|being|belongs|besides|bewerte|but|called|capture|captures|choisis|choose|chose|conclude"
    r"|contain|contains|corresponds|count|counted|cumplen|daher|depict|daría|depicts|deserves|detect|detected"
    r"|display|displays|diría|dirais|doing|donne|donnerais|elijo|es|est|et|features|find|gebe|give|gives|go|has|have"
    r"|hay|hence|hold|holding|holds|identify|include|includes|including|indicates|into|is|ist|ja|leaves|like|m|mais"
    r"|make|makes|merits|mettrais|watching|looking at|viewing|mit|montre|move|moved|moves|moving|muestra|named"
    r"|namely|observa|observan|observe|observed|oui|pan|pans|part|perform|performed|performing|performs|pick|plus"
    r"|presentes|rate|rather|re|remain|remains|remplis|s|say|see|seen|sees|spot|lies|settle on|sehe|sehen|select"
    r"|show|showing|shown|shows|sichtbar|sieht|sind|sino|sommes|so|son|sondern|sont|start|started|starts|state|stay"
    r"|suggests|sí|therefore|thus|tippe|(?:move[sd]?|moving|corresponds?|belongs?|pans?|points?|shifts?|goes"
    r"|change[sd]?|back|camera|scope|view|laparoscope|image|frame|it) to(?:wards)?|trata|um|und|use|uses|using|ve"
    r"|ven|veo|vergebe|visibles|vois|voit|vorhanden|was|were|while|wird|with|wähle|y|yes|zeigt|zoom|zooming|zooms|为"
    r"|于|到|即|和|属|择|是|有|示|给|见|选"
)
_GRAMMAR = (
    r"a|above|again|alone|also|am|an|and|are|around|as|at|auf|avec|be|because|behind|bei|being|below|beside|between"
    r"|but|by|can|car|category|class|clearly|con|da|dans|del|due|during|en|es|est|está|et|device|devices|estrellas"
    r"|fit|fits|for|from|gesture|given|has|have|here|im|in|inside|into|is|ist|it|mit|most|near|next|now|o|oder|of|on"
    r"|one|only|or|ou|out|over|phase|point|points|por|porque|present|punkte|punkten|puntos|seen|since|sind|so|son"
    r"|sont|stage|stars|step|sterne|than|étoiles|sur|that|the|then|there|throughout|this|through|to|too|two|und"
    r"|under|visible|von|was|weil|were|when|where|which|while|with|within|y|zu|zur|à|分|可|和|因|图|在|段|阶"
)
_BEING = (
    r"appear|appears|are|be|been|can|es|est|está|has|have|is|ist|remain|remains|seem|seems|sind"
    r"|son|sont|was|werden|were|wird"
)
_THERE = (
    r"achieved|answer|apparent|best|correct|cumplido|detected|done|durchgeführt|erfüllt|evident|fair|fit|fits"
    r"|fulfilled|happening|here|identified|inside|it is|likely|made(?! of)|met|observed|occurring|ongoing|only|open"
    r"|opened|performed|place|placed|inserted|applied|point|points|present|presente|presentes|progress|présent"
    r"|présente|présentes|présents|punkten|remains|rempli|remplis|right|satisfied|seen|sehen|shown|sichtbar|there"
    r"|underway|use|used(?! (?:to|for|in|when))|view|visible|visibles|vorhanden|分"
)
_PLACES = (
    r"above|around|at|because|behind|below|beside|by|due|from|in|inside|near|next|of|on|over"
    r"|phase|present|since|stage|step|under|visible|with|zu|可|在"
)
_WITHIN = r"auf|aus|dans|en|from|im|in|into"
_POINTS = r"that|these|this|diese|dieser"
DRESS = (
    rf"(?:(?:{_ARTICLES}|{_KINDS}) )*(?:(?:loops|parts|portions|segments) of )?"
    rf"(?:(?!(?:{_POINTS}) )(?:{_ARTICLES}) (?:(?:{_ARTICLES}|{_KINDS}) )*(?:(?!(?:{_VERBS}|{_GRAMMAR}) )\S+ ){{0,2}}"
    rf"(?:(?:tip|tips|jaw|jaws|shaft|end|part|edge|pair|body|wall|blade|blades) of )?(?:(?!of )(?:{_KINDS}) )*)?"
)
"""Articles, words for the kind, and adjectives behind an article."""
_DRESSED = re.compile(DRESS)
_STATED = re.compile(rf"(?:.* )??(?:{_VERBS}) (?:(?:now |currently |still )?(?:{_WITHIN}) )?{DRESS}")
_IN = re.compile(rf".+ (?:{_WITHIN}) {DRESS}(?:phase|stage|step|fase|étape|阶)(?: .*)?")
_HELD = re.compile(rf"(?:.* )??(?:{_WITHIN}|next to|near|beside|behind) {DRESS}")
_GOES_ON = re.compile(rf"(?:{_GRAMMAR}|\d+|$)(?!\S)")
_IS_THERE = re.compile(
    rf"(?:devices? )?(?:(?:{_BEING})(?=$)|(?:{_BEING}) (?:(?:\S+ ){{0,2}}(?:{_THERE})|what (?:i|we|is|one)"
    rf"|{_PLACES})|{_PLACES}|{_THERE}|\d+|$)(?!\S)"
)
_OCCURS = re.compile(r"(?:occurs|occurred|happens|happened|takes place)(?!\S)")
_HAPPENS = re.compile(rf"(?:(?:{_BEING}) \S+ing|ha(?:s|ve) \S+(?:ed|ung))(?!\S)")
_ACTS = re.compile(
    rf"(?:(?:{_BEING}) (?!used|made)\S+(?:ing|ed|ung)|(?!(?:{_BEING})(?!\S))(?:\S+(?:s|ed|ing)"
    rf"|(?:\S+ )?(?:{_ARTICLES})))(?!\S)"
)
"""What a thing does that is there; said of things without an article it is what they are for."""
PICTURED = re.compile(
    r"(?:^|(?<=\s))(?:an?|one|two|three|four|several|some|eine?|un|une|una|\d+|一个|个|把|left|right|top|bottom|upper|lower"
    r"|center|centre|background|foreground|(?:image|frame|picture)|view|screen|surgeon|here|now|(?:is|are"
    r"|being) \S+ing)(?=\s|$)"
)
"""Said of this image, and not of such things in general: of one of them, of a place in it, or of what goes on."""
_NEAR = 200
_MARKS = re.compile(r"([,:;()\[\]–—=|#\"*→]+|\s-\s|\.(?=\s|$)|[，：；（）。、])")


def marked(text: str) -> str:
    """A folded text in which marks stand, all as one sign but the colon.

    Example:
        >>> marked("So: left (not right)")
        'so ¦ left ¶ not right ¶'
    """
    pieces = enumerate(_MARKS.split(text))
    return " ".join(filter(None, ("¶¦"[":" in piece] if place % 2 else folded(piece) for place, piece in pieces)))


def without_marks(text: str) -> str:
    """A marked text as if it had none."""
    return re.sub("[¶¦] ?", "", text)


def is_framed(before: str, after: str, *, thing: bool = False) -> bool:
    """Whether a name between two texts is asserted.

    Args:
        before: What stands before it, marked; read from the last mark on.
        after: What stands behind it, read up to the next mark.
        thing: Whether what acts is there: "a hook enters".

    Example:
        >>> is_framed("it shows the", ""), is_framed("", "is visible"), is_framed("in", "surgeons expose the duct")
        (True, True, False)
    """
    before = f"{re.split('[¶¦]', before[-_NEAR:])[-1].strip()} ".lstrip()
    after = re.split("[¶¦]", after[:_NEAR])[0].strip()
    acts = thing and (_ACTS if before else _HAPPENS).match(after) is not None
    if _DRESSED.fullmatch(before):
        return (
            acts
            or (_OCCURS if before and after.startswith(("occur", "happen", "take")) else _IS_THERE).match(after)
            is not None
        )
    stated = _STATED.fullmatch(before) or (thing and _HELD.fullmatch(before)) or _IN.fullmatch(f"{before}{after} ")
    return bool(stated) and (acts or _GOES_ON.match(after) is not None)
