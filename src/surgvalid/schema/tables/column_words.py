"""What headings call things: the words for models, patients, recordings, cases, images, repeats and parts.

A heading is compared in small words, without brackets (`Patient (n=20)`) and without words that only say that it is a
name (`PatientID`, `case_no`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

MODELS = set(
    """
    model algorithm method team network net system approach architecture submission entrant classifier modell
    algorithmus methode netz netzwerk verfahren modele reseau modelo modello metodo rede 模型
    """.split()
)
PATIENTS = set(
    """
    patient patients patientin patienten subject subjects subj person proband participant pat pid mrn pt pts
    paciente pacientes paziente pazienti pacjent hasta 患者 пациент pseudonym animal animals
    """.split()
)
RECORDINGS = dict.fromkeys("procedure surgery operation intervention eingriff op".split(), "procedure") | {
    "video": "video",
    "sequence": "sequence",
}
"""What was recorded, with what sentences call it; all but `video` may name a kind of operation instead."""
HOLDERS = {
    **dict.fromkeys("case id fall cas".split(), "case"),
    **dict.fromkeys(("study", "studien", "study instance", "studyinstanceuid"), "study"),
    **{word: word for word in ("scan", "exam", "record", "recording")},
}
"""May be another patient each; nobody says so."""
IMAGES = set(
    """
    frame image img question slice clip sample file filename item instance qid q time timestamp second bild
    frage fotogramma fotograma quadro trame einzelbild afbeelding beeld imagen imagem immagine
    """.split()
)
"""Of which one patient gives many."""
PATHS = {"path", "image path", "img path", "frame path", "file path"}
"""Name images where nothing else does; they may differ from model to model."""
REPEATS = set(
    """
    seed run fold repetition repeat rep trial attempt wiederholung durchlauf seme semilla graine repeticion ripetizione
    """.split()
)
PARTS = set(
    """
    class organ structure tissue anatomy instrument klasse struktur label category tool phase step gewebe organo organe
    orgao clase classe
    """.split()
)
PERHAPS_MODELS = set("label category tool run".split())
"""Of repeats and parts, those that may name models where no other column does."""
METRICS = {"metric", "measure"}
CLINICS = {word: word for word in ("center", "centre", "hospital")} | dict.fromkeys(
    "zentrum klinik krankenhaus standort hopital ospedale ziekenhuis centro".split(), "centre"
)
"""Each of which may number its patients from one, with what sentences call it."""
PLACES = {
    **CLINICS,
    **{word: word for word in ("site", "device", "surgeon")},
    **dict.fromkeys("operator chirurg operateur chirurgien".split(), "surgeon"),
}
"""Where, with what or by whom something was recorded, with what sentences call it; numbers there are names."""
DESCRIBING = {
    *PLACES,
    *"age sex gender bmi weight height year fold seed epoch alter geschlecht duration asa".split(),
    *"delta diff difference differenz".split(),
}
"""First words of numbers that are no scores, whatever they are."""
_CLASSES = PARTS | set(
    """
    liver gallbladder spleen pancreas kidney stomach colon bowel duct artery vein vessel nerve fat tumor lesion polyp
    background foreground grasper hook clip clipper scissors forceps left right common cystic leber gallenblase milz
    """.split()
)


def is_class(name: str) -> bool:
    """Whether a name is that of what is segmented or detected in a case, or its number: no model is called so.

    Example:
        >>> is_class("cystic duct"), is_class("Leber"), is_class("class 2"), is_class("0"), is_class("livernet")
        (True, True, True, True, False)
    """
    words = [word for word in re.split(r"[\W_]+|(?<=[a-z])(?=\d)", without_accents(name).casefold()) if word]
    return all(word in _CLASSES or word.isdecimal() for word in words)


NUMBERING = {"", "index", "row", "unnamed 0", "column1"}
"""What columns are called that only number rows."""
_FILLERS = set(
    """
    id name no nr number num identifier index idx nom du de do da del della nummer numero code codigo kennung key uid
    """.split()
)
_ENDING = re.compile(r"(en|s)?(id|nr|nummer|number|num|name|kennung|kurzel)$")
"""Of words in one piece, such as `patientid` and `Fallnummer`."""


def without_brackets(heading: str) -> tuple[str, str]:
    """A heading and what stands in brackets behind it, which is a unit or a remark.

    Example:
        >>> without_brackets("HD95 (mm)"), without_brackets("Dice [%]"), without_brackets("(all)")
        (('HD95', 'mm'), ('Dice', '%'), ('(all)', ''))
    """
    match = re.fullmatch(r"\s*([^\[({]*[^\[({\s])\s*[\[({]([^\])}]*)[\])}]\s*", heading)
    return (match[1], match[2].strip()) if match else (heading, "")


_UNIT = re.compile(
    r"%|percent|pct|prozent|([mµuc]?m|px|pix(els?)?|vox(els?)?|ms|s|sec|sek)[²³23]?|seconds?|min|ml|°|deg", re.I
)


def is_unit(text: str) -> bool:
    """Whether what stands in brackets behind a heading is a unit.

    Example:
        >>> is_unit("mm"), is_unit("%"), is_unit("ours")
        (True, True, False)
    """
    return _UNIT.fullmatch(text) is not None


def plain_name(column: str) -> str:
    """A column's name in small words, without those that only say that it is a name.

    Example:
        >>> plain_name("PatientID"), plain_name("video_name"), plain_name("Fallnummer"), plain_name("Pat. (n=20)")
        ('patient', 'video', 'fall', 'pat')
        >>> plain_name("Nom du patient"), plain_name("N° Réseau"), plain_name("grid")
        ('patient', 'reseau', 'grid')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", without_accents(without_brackets(column)[0].replace("°", "o")))
    kept = [_stem(word) for word in re.split(r"[\W_]+", words.casefold()) if word]
    return " ".join([word for word in kept if word not in _FILLERS] or kept)


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if stem in {*MODELS, *PATIENTS, *RECORDINGS, *HOLDERS, *IMAGES} else word


def says_name(column: str) -> bool:
    """Whether a heading says that its column holds names or numbers of something.

    Example:
        >>> [says_name(heading) for heading in ("Kranken-Nr", "Name", "Aktennummer", "cohort", "covid")]
        [True, True, True, False, False]
    """
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", without_brackets(column)[0]).casefold())
    return words[-1] in _FILLERS or words[-1].endswith(("nr", "nummer", "number", "name"))


def without_accents(text: str) -> str:
    """A text in letters without marks.

    Example:
        >>> without_accents("Modèle Écart-type")
        'Modele Ecart-type'
    """
    return "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))


def named_by(columns: Iterable[str], words: Collection[str]) -> list[str]:
    """Those of some columns that one of the words names."""
    return [column for column in columns if plain_name(column) in words]


def identifying(columns: Iterable[str], stated: Iterable[str] = ()) -> set[str]:
    """The columns that name models, patients, cases or metrics, by what they are called or by what the caller says.

    Example:
        >>> sorted(identifying(["PatientID", "dice", "arm"], ["arm"]))
        ['PatientID', 'arm']
    """
    return {*named_by(columns, {*MODELS, *PATIENTS, *RECORDINGS, *HOLDERS, *IMAGES, *METRICS}), *stated}


def quoted(columns: Iterable[str]) -> str:
    """The names of columns in a sentence."""
    return ", ".join(map(repr, columns))


def verb(columns: Sequence[str], of_one: str, of_several: str) -> str:
    """The form of a verb that so many columns ask for."""
    return of_one if len(columns) == 1 else of_several
