"""The types of procedures that can be simulated.

Phases follow the usual teaching of each operation, with the phase names of public data sets where these
exist. Numbers of objects and shares of time are plausible round figures, not estimates from real data.
"""

from __future__ import annotations

from surgeval.errors import UnknownName
from surgeval.simulation.procedure_types import Ending, ObjectRule, PhaseModel, ProcedureType

_SPONGE = ("white",)
_STOP_BLEEDING = "stop a bleeding"
_ASIDE = "hold the bowel aside"
_CYSTIC = ("cystic duct", "cystic artery")
_GROIN = ("hernia sac", "inferior epigastric artery")
_MESENTERIC = ("inferior mesenteric artery", "inferior mesenteric vein")


def _sponges(
    phase: str, until: str, place: str, *, chance: float, most: int = 2, purpose: str = "absorb blood"
) -> ObjectRule:
    return ObjectRule(
        "Sponge", phase, (1, most), Ending.RETRIEVED, until, place, chance, purpose, moves=(0, 3), colours=_SPONGE
    )


def _clips(phase: str, place: str, count: tuple[int, int], structures: tuple[str, ...], last: str) -> ObjectRule:
    return ObjectRule(
        "Clip",
        phase,
        count,
        Ending.STAYS,
        last,
        place,
        1.0,
        "close the {structure}",
        structures,
        colours=("silver", "purple"),
    )


def _bag(phase: str, until: str, place: str, chance: float = 1.0) -> ObjectRule:
    return ObjectRule("Specimen Bag", phase, (1, 1), Ending.RETRIEVED, until, place, chance, "carry out the specimen")


def _specimen(phase: str, until: str, place: str, colour: str) -> ObjectRule:
    return ObjectRule("Specimen", phase, (1, 1), Ending.BAGGED, until, place, colours=(colour,))


def _stones(phase: str, until: str, place: str, chance: float) -> ObjectRule:
    return ObjectRule("Gallstone", phase, (1, 4), Ending.BAGGED, until, place, chance)


def _drain(phase: str, place: str, chance: float) -> ObjectRule:
    return ObjectRule(
        "External Drain", phase, (1, 1), Ending.STAYS, phase, place, chance, "lead fluid out after the operation"
    )


def _agent(phase: str, place: str, last: str, chance: float) -> ObjectRule:
    return ObjectRule("Absorbable Hemostatic Agent", phase, (1, 2), Ending.STAYS, last, place, chance, _STOP_BLEEDING)


def _needles(phase: str, place: str, count: tuple[int, int], purpose: str, chance: float = 1.0) -> ObjectRule:
    return ObjectRule("Needle", phase, count, Ending.RETRIEVED, phase, place, chance, purpose)


def _loop(phase: str, until: str, place: str, structures: tuple[str, ...], chance: float) -> ObjectRule:
    return ObjectRule(
        "Silicone Loop",
        phase,
        (1, 1),
        Ending.RETRIEVED,
        until,
        place,
        chance,
        "hold a structure aside",
        structures,
        colours=("blue", "red", "yellow"),
    )


CHOLECYSTECTOMY = ProcedureType(
    "Cholecystectomy",
    (15, 45, 110),
    {
        "Calot's triangle": (-0.1, 0.05),
        "gallbladder fossa": (0.45, -0.3),
        "subhepatic space": (0.75, 0.35),
        "right paracolic gutter": (-0.9, 0.45),
        "umbilical port": (1.2, -0.5),
    },
    (
        PhaseModel("Preparation", 1.0, "Calot's triangle", ("grasper",), smoke=0.02, blood=0.01),
        PhaseModel("Calot Triangle Dissection", 4.0, "Calot's triangle", ("hook", "scissors"), 0.5, 0.12),
        PhaseModel("Clipping and Cutting", 1.2, "Calot's triangle", ("clip applier", "scissors"), 0.05, 0.05),
        PhaseModel("Gallbladder Dissection", 3.5, "gallbladder fossa", ("hook", "hook", "suction"), 0.7, 0.2),
        PhaseModel("Gallbladder Packaging", 0.8, "subhepatic space", ("grasper",), 0.02, 0.02),
        PhaseModel("Cleaning and Coagulation", 1.5, "gallbladder fossa", ("suction", "hook"), 0.35, 0.25),
        PhaseModel("Gallbladder Retraction", 0.8, "umbilical port", ("grasper",), 0.01, 0.03),
    ),
    (
        _sponges("Calot Triangle Dissection", "Cleaning and Coagulation", "subhepatic space", chance=0.45),
        _clips("Clipping and Cutting", "Calot's triangle", (3, 6), _CYSTIC, "Gallbladder Retraction"),
        _bag("Gallbladder Packaging", "Gallbladder Retraction", "subhepatic space", 0.95),
        _stones("Gallbladder Dissection", "Gallbladder Packaging", "subhepatic space", 0.3),
        _specimen("Gallbladder Dissection", "Gallbladder Packaging", "gallbladder fossa", "green"),
        _sponges("Gallbladder Dissection", "Cleaning and Coagulation", "gallbladder fossa", chance=0.4),
        _agent("Cleaning and Coagulation", "gallbladder fossa", "Gallbladder Retraction", 0.3),
        _drain("Cleaning and Coagulation", "subhepatic space", 0.3),
    ),
    specimen="gallbladder",
    organs=("vessel", "gallbladder", "liver", "bowel", "wall"),
)  # fmt: skip

APPENDECTOMY = ProcedureType(
    "Appendectomy",
    (10, 35, 80),
    {
        "mesoappendix": (0.05, 0.0),
        "cecal base": (0.5, 0.25),
        "right iliac fossa": (-0.6, 0.4),
        "pouch of Douglas": (-0.9, -0.35),
        "left lower port": (1.2, -0.4),
    },
    (
        PhaseModel("Exploration", 1.2, "right iliac fossa", ("grasper",), 0.01, 0.01),
        PhaseModel("Mesoappendix Dissection", 2.5, "mesoappendix", ("hook", "scissors"), 0.5, 0.15),
        PhaseModel("Appendix Division", 1.2, "cecal base", ("clip applier", "stapler"), 0.05, 0.08),
        PhaseModel("Specimen Packaging", 0.8, "right iliac fossa", ("grasper",), 0.01, 0.02),
        PhaseModel("Irrigation and Inspection", 1.6, "pouch of Douglas", ("suction",), 0.05, 0.1),
        PhaseModel("Specimen Removal", 0.6, "left lower port", ("grasper",), 0.01, 0.02),
    ),
    (
        _clips("Mesoappendix Dissection", "mesoappendix", (1, 3), ("appendicular artery",), "Specimen Removal"),
        _clips("Appendix Division", "cecal base", (2, 4), ("appendix base",), "Specimen Removal"),
        _bag("Specimen Packaging", "Specimen Removal", "right iliac fossa"),
        _specimen("Appendix Division", "Specimen Packaging", "cecal base", "pink"),
        _sponges("Mesoappendix Dissection", "Irrigation and Inspection", "right iliac fossa", chance=0.4),
        _drain("Irrigation and Inspection", "pouch of Douglas", 0.25),
        _agent("Irrigation and Inspection", "cecal base", "Specimen Removal", 0.12),
    ),
    specimen="appendix",
    organs=("fat", "bowel", "wall", "fat", "wall"),
)  # fmt: skip

_COLORECTAL_SITES = {
    "vessel root": (0.0, -0.15),
    "left mesocolon": (0.55, 0.1),
    "splenic flexure": (1.1, -0.45),
    "pelvis": (-0.7, 0.45),
    "left paracolic gutter": (0.85, 0.5),
    "suprapubic port": (-1.2, -0.45),
}

SIGMOID_RESECTION = ProcedureType(
    "Sigmoid Resection",
    (60, 120, 180),
    _COLORECTAL_SITES,
    (
        PhaseModel("Preparation", 1.0, "pelvis", ("grasper",), 0.02, 0.02),
        PhaseModel("Medial Mobilisation", 3.0, "left mesocolon", ("hook", "scissors"), 0.45, 0.12),
        PhaseModel("Vessel Ligation", 1.5, "vessel root", ("clip applier", "scissors"), 0.15, 0.15),
        PhaseModel("Lateral Mobilisation", 3.0, "left paracolic gutter", ("hook", "scissors"), 0.45, 0.1),
        PhaseModel("Transection", 1.2, "pelvis", ("stapler", "grasper"), 0.1, 0.1),
        PhaseModel("Specimen Extraction", 1.0, "suprapubic port", ("grasper",), 0.01, 0.03),
        PhaseModel("Anastomosis", 1.8, "pelvis", ("needle driver", "grasper"), 0.03, 0.08),
        PhaseModel("Final Inspection", 1.0, "pelvis", ("suction",), 0.03, 0.1),
    ),
    (
        _sponges("Medial Mobilisation", "Final Inspection", "left mesocolon", chance=0.8, most=3, purpose=_ASIDE),
        _clips("Vessel Ligation", "vessel root", (3, 8), _MESENTERIC, "Final Inspection"),
        _loop("Lateral Mobilisation", "Anastomosis", "left paracolic gutter", ("left ureter", "gonadal vessel"), 0.5),
        _sponges("Lateral Mobilisation", "Anastomosis", "left paracolic gutter", chance=0.6, most=3),
        _bag("Transection", "Specimen Extraction", "pelvis", 0.8),
        _specimen("Transection", "Specimen Extraction", "pelvis", "pink"),
        _needles("Anastomosis", "pelvis", (1, 3), "suture the anastomosis", 0.8),
        _agent("Final Inspection", "left mesocolon", "Final Inspection", 0.35),
        _drain("Final Inspection", "pelvis", 0.7),
    ),
    specimen="bowel",
    organs=("vessel", "fat", "fat", "bowel", "bowel", "wall"),
)  # fmt: skip

RECTAL_RESECTION = ProcedureType(
    "Rectal Resection",
    (90, 150, 180),
    _COLORECTAL_SITES,
    (
        PhaseModel("Preparation", 1.0, "pelvis", ("grasper",), 0.02, 0.02),
        PhaseModel("Vessel Ligation", 1.5, "vessel root", ("clip applier", "hook"), 0.2, 0.15),
        PhaseModel("Colon Mobilisation", 3.0, "left mesocolon", ("hook", "scissors"), 0.45, 0.1),
        PhaseModel("Rectal Dissection", 4.0, "pelvis", ("hook", "scissors", "suction"), 0.55, 0.2),
        PhaseModel("Transection", 1.2, "pelvis", ("stapler", "grasper"), 0.1, 0.1),
        PhaseModel("Specimen Extraction", 1.0, "suprapubic port", ("grasper",), 0.01, 0.03),
        PhaseModel("Anastomosis", 1.8, "pelvis", ("needle driver", "grasper"), 0.03, 0.08),
        PhaseModel("Final Inspection", 1.0, "pelvis", ("suction",), 0.03, 0.1),
    ),
    (
        _clips("Vessel Ligation", "vessel root", (3, 7), _MESENTERIC, "Final Inspection"),
        _sponges("Colon Mobilisation", "Final Inspection", "left mesocolon", chance=0.7, most=3, purpose=_ASIDE),
        _loop("Rectal Dissection", "Transection", "pelvis", ("rectum", "left ureter"), 0.6),
        _sponges("Rectal Dissection", "Anastomosis", "pelvis", chance=0.8, most=4),
        _bag("Transection", "Specimen Extraction", "pelvis", 0.7),
        _specimen("Transection", "Specimen Extraction", "pelvis", "pink"),
        _needles("Anastomosis", "pelvis", (1, 4), "suture the anastomosis"),
        _agent("Final Inspection", "pelvis", "Final Inspection", 0.45),
        _drain("Final Inspection", "pelvis", 0.8),
    ),
    specimen="bowel",
    organs=("vessel", "fat", "fat", "bowel", "bowel", "wall"),
)  # fmt: skip

INGUINAL_HERNIA_REPAIR = ProcedureType(
    "Inguinal Hernia Repair",
    (25, 60, 120),
    {
        "inguinal region": (0.0, -0.1),
        "preperitoneal space": (0.5, 0.2),
        "cord structures": (-0.45, 0.25),
        "pelvic floor": (-0.95, 0.45),
        "umbilical port": (1.2, -0.45),
    },
    (
        PhaseModel("Preparation", 1.0, "inguinal region", ("grasper",), 0.01, 0.01),
        PhaseModel("Peritoneal Incision", 1.0, "inguinal region", ("scissors", "hook"), 0.3, 0.08),
        PhaseModel("Preperitoneal Dissection", 3.0, "preperitoneal space", ("hook", "grasper"), 0.35, 0.12),
        PhaseModel("Hernia Sac Reduction", 2.0, "cord structures", ("grasper", "scissors"), 0.15, 0.08),
        PhaseModel("Mesh Placement", 2.0, "preperitoneal space", ("grasper",), 0.01, 0.02),
        PhaseModel("Peritoneal Closure", 2.2, "inguinal region", ("needle driver",), 0.01, 0.03),
        PhaseModel("Final Inspection", 0.6, "pelvic floor", ("suction",), 0.01, 0.05),
    ),
    (
        _sponges("Preperitoneal Dissection", "Mesh Placement", "preperitoneal space", chance=0.35),
        _loop("Hernia Sac Reduction", "Mesh Placement", "cord structures", ("spermatic cord",), 0.4),
        ObjectRule(
            "Specimen", "Hernia Sac Reduction", (1, 1), Ending.RETRIEVED, "Mesh Placement", "cord structures", 0.25,
            colours=("yellow",),
        ),
        ObjectRule(
            "Mesh", "Mesh Placement", (1, 1), Ending.STAYS, "Mesh Placement", "preperitoneal space", 1.0,
            "reinforce the wall", moves=(1, 2), colours=("white", "blue"),
        ),
        _clips("Hernia Sac Reduction", "cord structures", (1, 4), _GROIN, "Final Inspection"),
        _needles("Peritoneal Closure", "inguinal region", (1, 2), "close the peritoneum"),
        _agent("Final Inspection", "cord structures", "Final Inspection", 0.12),
    ),
    specimen="tissue",
    organs=("wall", "fat", "vessel", "wall", "wall"),
)  # fmt: skip

PROCEDURE_TYPES: dict[str, ProcedureType] = {
    kind.name: kind
    for kind in (CHOLECYSTECTOMY, APPENDECTOMY, SIGMOID_RESECTION, RECTAL_RESECTION, INGUINAL_HERNIA_REPAIR)
}
"""Every type by its name."""


def procedure_type(name: str) -> ProcedureType:
    """The type of that name, in any case.

    Raises:
        UnknownName: No such type; the message carries the nearest.
    """
    folded = {known.casefold(): kind for known, kind in PROCEDURE_TYPES.items()}
    if name.casefold() not in folded:
        raise UnknownName("procedure type", name, PROCEDURE_TYPES)
    return folded[name.casefold()]
