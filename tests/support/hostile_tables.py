"""Tables as people keep them, made here with what is true of each; none is among those of `shared/data/tables`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

Rng = np.random.Generator
Row = dict[str, Any]


class Hostile(NamedTuple):
    """A file and what is true of it."""

    text: str
    units: int | None
    """How many a comparison rests on; None where nothing says it."""
    unit: str = "patient"
    kind: str = "better"
    """Of the verdict."""
    winner: str | None = "B"
    better: str | None = None
    """What a user has to say of the direction."""
    says: str = ""
    """In what is told of the reading."""
    asks: str = ""
    """In the question of every verb, where nothing says how the table is to be read."""
    encoding: str = "utf-8"


def written(rows: Sequence[Row], separator: str = ",", point: str = ".") -> str:
    """Rows as a file."""
    cells = [[f"{one:.4f}".replace(".", point) if isinstance(one, float) else str(one) for one in row.values()]
             for row in rows]  # fmt: skip
    return "\n".join(separator.join(row) for row in [list(rows[0]), *cells]) + "\n"


def scores(rng: Rng, count: int = 12, *, gain: float = 0.06) -> Iterator[tuple[int, str, float]]:
    """Patient, model and Dice of two models, the second ahead; equal on average over these patients without a gain."""
    level, gaps = rng.normal(0.75, 0.04, count), rng.normal(0, 0.02, count)
    gaps += gain - gaps.mean()
    for patient in range(count):
        yield patient, "A", float(np.clip(level[patient], 0, 1))
        yield patient, "B", float(np.clip(level[patient] + gaps[patient], 0, 1))


def nested(rng: Rng, patients: int, each: int, *, gain: float = 0.06) -> Iterator[tuple[int, int, str, float]]:
    """Patient, what lies within, model and Dice."""
    for patient, model, value in scores(rng, patients, gain=gain):
        for place in range(each):
            yield patient, place, model, float(np.clip(value + rng.normal(0, 0.01), 0, 1))


def wide(rng: Rng, more: Callable[[float, float], Row] = lambda a, b: {}, **named: Any) -> list[Row]:
    """A row per patient and a column per model."""
    pairs = list(scores(rng, **named))
    rows = zip(pairs[::2], pairs[1::2], strict=True)
    return [{"patient": f"p{a[0]}", "UNet": a[2], "Swin": b[2], **more(a[2], b[2])} for a, b in rows]


def _french(rng: Rng) -> Hostile:
    rows = [{"Nom du patient": f"P{p}", "Réseau": m, "Dice (%)": 100 * v} for p, m, v in scores(rng)]
    return Hostile(written(rows, ";", ","), 12, says="read as percent")


def _german(rng: Rng) -> Hostile:
    rows = [{"Fallnummer": p + 1, "Prüfer": "Dr. Weiß", "Modell": m, "Dice": v} for p, m, v in scores(rng)]
    return Hostile(written(rows, ";", ","), 12, "case", says="if each case is another patient", encoding="cp1252")


def _compounds(rng: Rng) -> Hostile:
    rows = [{"Patientennummer": p + 1, "Netzwerk": m, "HD95 [mm]": 30 * (1 - v)} for p, m, v in scores(rng, 14)]
    return Hostile(written(rows, ";", ","), 14)


def _operations(rng: Rng) -> Hostile:
    rows = [{"Proband-ID": p, "OP-Nr": f"{p}-{o}", "Verfahren": m, "DSC": v} for p, o, m, v in nested(rng, 12, 3)]
    return Hostile(written(rows), 12, says="'OP-Nr' lies within")


def _glued(rng: Rng) -> Hostile:
    rows = [{"patientid": p, "videoname": f"v{p}{o}", "method": m, "dice": v} for p, o, m, v in nested(rng, 10, 2)]
    return Hostile(written(rows), 10, says="'videoname' lies within")


def _seeds_in_folds(rng: Rng) -> Hostile:
    cells = nested(rng, 20, 3, gain=0.0)
    rows = [{"case_id": f"c{p}", "fold": p % 5, "seed": s, "model": m, "dice": v} for p, s, m, v in cells]
    return Hostile(written(rows), 20, "case", "open", None, says="3 seeds per case averaged")


def _runs(rng: Rng) -> Hostile:
    cells = nested(rng, 8, 5, gain=0.0)
    rows = [{"patient": f"p{p}", "run": k, "model": m, "dice": v} for p, k, m, v in cells]
    return Hostile(written(rows), 8, kind="open", winner=None, says="5 runs per case averaged")


def _devices(rng: Rng) -> Hostile:
    turned = ((p, "BA"["AB".index(m)] if p % 2 else m, v) for p, m, v in scores(rng, 24))
    rows = [{"device": ("olympus", "storz")[p % 2], "patient": p, "model": m, "dice": v} for p, m, v in turned]
    return Hostile(written(rows), 24, kind="depends", winner=None)


def _tools(rng: Rng) -> Hostile:
    turned = ((p, t, "BA"["AB".index(m)] if t else m, v) for p, t, m, v in nested(rng, 14, 2))
    rows = [{"case": p, "tool": ("hook", "clip")[t], "method": m, "dice": v} for p, t, m, v in turned]
    return Hostile(written(rows), 14, "case", "depends", None, says="'tool' names parts of a case")


def _phases(rng: Rng) -> Hostile:
    cells = nested(rng, 14, 3, gain=0.0)
    names = ("prepare", "dissect", "close")
    rows = [{"video": p, "procedure": ("lc", "hernia")[p % 2], "phase": names[k], "model": m, "f1": v}
            for p, k, m, v in cells]  # fmt: skip
    return Hostile(written(rows), 14, "video", "open", None, says="'phase' names parts of a case")


def _four_metrics(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "iou": v / (2 - v), "dice": v, "assd": d / 4, "hd95": d}
            for p, m, v in scores(rng, 14) for d in [float(rng.normal({"A": 6, "B": 9}[m], 0.4))]]  # fmt: skip
    return Hostile(written(rows), 14, kind="depends", winner=None)


def _long_metrics(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "measure": name, "value": value} for p, m, v in scores(rng)
            for name, value in (("hd95", 40 * (1 - v)), ("iou", v / (2 - v)), ("dice", v))]  # fmt: skip
    return Hostile(written(rows), 12, says="'dice' is the primary metric")


def _words_for_missing(rng: Rng) -> Hostile:
    rows = wide(rng, count=16)
    rows[3]["UNet"], rows[5]["UNet"], rows[7]["Swin"] = "n/a", "failed", "-"
    return Hostile(written(rows), 13, winner="Swin", better="larger", says="'n/a', 'failed' in 'UNet'")


def _units_and_cases_missing(rng: Rng) -> Hostile:
    rows = [{"patient": f"p{p}", "case": f"p{p}c{c}", "model": m, "dice": v} for p, c, m, v in nested(rng, 14, 3)
            if m == "B" or (p > 1 and (p > 5 or c))]  # fmt: skip
    return Hostile(written(rows), 12, says="compared on 12 of 14 patients; A has no scores in 2")


def _missing_for_both(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "dice": "" if (p, m) in ((0, "B"), (1, "B"), (9, "A")) else v}
            for p, m, v in scores(rng, 20)]  # fmt: skip
    return Hostile(written(rows), 17, kind="depends", winner=None)


def _nested_wide(rng: Rng) -> Hostile:
    cells = list(nested(rng, 8, 4, gain=0.0))
    a, b = ([one for one in cells if one[2] == model] for model in "AB")
    rows = [{"patient": f"P{x[0]}", "video": f"P{x[0]}_{x[1]}", "UNet_dice": x[3], "Swin_dice": y[3]}
            for x, y in zip(a, b, strict=True)]  # fmt: skip
    return Hostile(written(rows), 8, kind="open", winner=None, says="'video' lies within")


def _file_names(rng: Rng) -> Hostile:
    cells = nested(rng, 9, 8, gain=0.0)
    rows = [{"filename": f"case_{p:03}-{f:04}.jpg", "model": m, "dice": v} for p, f, m, v in cells]
    return Hostile(written(rows), 9, "case", "open", None, says="read from the names in 'filename'")


def _paths(rng: Rng) -> Hostile:
    rows = [{"img_path": f"patient{p:02}/vid{f % 2}/{f:06}.png", "model": m, "dice": v}
            for p, f, m, v in nested(rng, 10, 6)]  # fmt: skip
    return Hostile(written(rows), 10, says="10 patients read from the names")


def _numbered_frames(rng: Rng) -> Hostile:
    rows = [{"video": p + 1, "frame": 25 * f, "model": m, "dice": v} for p, f, m, v in nested(rng, 11, 10)]
    return Hostile(written(rows), 11, "video", says="'frame' lies within")


def _one_model(rng: Rng) -> Hostile:
    rows = [{"patient": p, "dice": v} for p, m, v in scores(rng) if m == "A"]
    return Hostile(written(rows), 12, kind="open", winner=None, says="no column names a model")


def _summaries(rng: Rng) -> Hostile:
    more = [{"patient": name, "UNet": 0.75, "Swin": 0.81} for name in ("Moyenne", "Écart-type", "Médiane")]
    return Hostile(written([*wide(rng), *more]), 12, winner="Swin", better="larger", says="'Écart-type' in 'patient'")


def _german_summaries(rng: Rng) -> Hostile:
    more = [{"patient": name, "UNet": 0.75, "Swin": 0.81} for name in ("Mittelwert", "Standardabweichung")]
    text = written([*wide(rng), *more], ";", ",")
    return Hostile(text, 12, winner="Swin", better="larger", says="'Mittelwert' in 'patient'")


def _difference(rng: Rng) -> Hostile:
    rows = wide(rng, lambda a, b: {"delta": b - a})
    return Hostile(written(rows), 12, winner="Swin", better="larger", says="'delta' describes cases")


def _merged_headings(rng: Rng) -> Hostile:
    rows = wide(rng, lambda a, b: {"": 20 * (1 - a), " ": 20 * (1 - b)})
    text = ",Dice,,HD95,\npatient,UNet,Swin,UNet,Swin\n" + written(rows).split("\n", 1)[1]
    return Hostile(text, 12, winner="Swin", says="'Dice' is the primary metric")


def _title(rng: Rng) -> Hostile:
    text = "Table 2: Dice on the test set,,\n,,\n" + written(wide(rng))
    return Hostile(text, 12, winner="Swin", better="larger")


def _metric_by_model(rng: Rng) -> Hostile:
    rows = [{"patient": one["patient"], "dice_UNet": one["UNet"], "dice_Swin": one["Swin"],
             "hd95_UNet": 20 - 20 * one["UNet"], "hd95_Swin": 20 - 20 * one["Swin"]} for one in wide(rng)]  # fmt: skip
    return Hostile(written(rows), 12, winner="Swin", says="is a metric of a model")


def _covariates(rng: Rng) -> Hostile:
    rows = [{"subject": p + 1, "sex": "mf"[p % 2], "age": 50.5 + p, "model": m, "dice": v} for p, m, v in scores(rng)]
    return Hostile(written(rows), 12, says="'age' describes cases")


def _rating(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "rating": round(4 * v + (m == "B"))} for p, m, v in scores(rng, 15)]
    return Hostile(written(rows), 15, better="larger")


def _signs(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "error_rate": f"{100 * (1 - v):.1f}%"} for p, m, v in scores(rng, 15)]
    return Hostile(written(rows), 15, better="smaller", says="percent signs")


def _named_as_summaries(rng: Rng) -> Hostile:
    names = {"A": "Total Variation Net", "B": "Mean Teacher"}
    rows = [{"patient": p, "model": names[m], "dice": v} for p, m, v in scores(rng)]
    return Hostile(written(rows), 12, winner="Mean Teacher")


def _four_patients(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "dice": v} for p, m, v in scores(rng, 4, gain=0.2)]
    return Hostile(written(rows), 4, kind="too_few", winner=None)


def _one_patient(rng: Rng) -> Hostile:
    rows = [{"patient": "p1", "frame": f, "model": m, "dice": v} for _, f, m, v in nested(rng, 1, 20, gain=0.1)]
    return Hostile(written(rows), 1, kind="too_few", winner=None, says="1 patient ('patient') is independent")


def _twins(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": m, "dice": v} for p, one, v in scores(rng, 15)
            for m in ("B" if one == "B" else ("A", "copy of A"))]  # fmt: skip
    return Hostile(written(rows), 15)


def _answers(rng: Rng) -> Hostile:
    rows = [{"video": v, "question": q, "model": m, "correct": "yes" if rng.random() < p else "no"}
            for v in range(16) for q in range(12) for m, p in (("A", 0.4), ("B", 0.85))]  # fmt: skip
    return Hostile(written(rows), 16, "video", says="words in 'correct' are read as 1")


def _identical(rng: Rng) -> Hostile:
    rows = [{"patient": p, "model": name, "dice": v} for p, m, v in scores(rng) if m == "A" for name in "AB"]
    return Hostile(written(rows), 12, kind="open", winner=None)


def _three_by_names(rng: Rng) -> Hostile:
    rows = [{"image": f"op{p:02}_{f:03}.png", "model": m, "dice": v} for p, f, m, v in nested(rng, 12, 5, gain=0.0)]
    rows += [{**one, "model": "C"} for one in rows if one["model"] == "A"]
    return Hostile(written(rows), 12, "procedure", "open", None)


def _nobody_says(rng: Rng) -> Hostile:
    rows = [{"img": f"{77 * p + 13 * f:05}.png", "model": m, "dice": v} for p, f, m, v in nested(rng, 12, 4)]
    return Hostile(written(rows), None, "image", "no_unit", None, says="no unit of independence is named")


def _videos_from_one_in_each_patient(rng: Rng) -> Hostile:
    """Three numbers of videos are no three videos."""
    pairs = list(nested(rng, 10, 3))
    rows = [{"patient": p + 1, "video": o + 1, "Dice UNet": v, "Dice Swin": w}
            for (p, o, m, v) in pairs if m == "A" for (q, k, n, w) in pairs if (q, k, n) == (p, o, "B")]  # fmt: skip
    return Hostile(written(rows), 10, winner="Swin")


def _headings_again(rng: Rng) -> Hostile:
    head, *rows = written([{"patient": p, "model": m, "dice": v} for p, m, v in scores(rng)]).splitlines()
    return Hostile("\n".join([head, *rows[:9], head, *rows[9:], ""]), 12, says="row 10 repeats the headings")


def _errors_below(rng: Rng) -> Hostile:
    text = written([{"Patient": p, "Modell": m, "Dice": v} for p, m, v in scores(rng)], ";", ",")
    return Hostile(f"{text}Mittelwert;;0,78\nStabw;;#DIV/0!\n", 12, says="'Stabw' in 'Patient'")


def _questions_of_each_video(rng: Rng) -> Hostile:
    """Under our names."""
    rows = [{"model": m, "case": f"q{q}", "video": f"v{v:02}", "value": int(rng.random() < p)}
            for v in range(16) for q in range(12) for m, p in (("A", 0.4), ("B", 0.85))]  # fmt: skip
    return Hostile(written(rows), 16, "video", says="'case' numbers the cases of each video", better="larger")


def _patients_in_video_names(rng: Rng) -> Hostile:
    rows = [{"video": f"P{p + 1}-OP{o}", "model": m, "dice": v} for p, o, m, v in nested(rng, 9, 4, gain=0.0)]
    return Hostile(written(rows), 9, kind="open", winner=None, says="9 patients read from the names in 'video'")


def _patients_in_our_video_names(rng: Rng) -> Hostile:
    rows = [{"case": f"{p}/{o}", "video": f"pat{p:02}_{o}", "model": m, "metric": "dice", "value": v}
            for p, o, m, v in nested(rng, 9, 4, gain=0.0)]  # fmt: skip
    return Hostile(written(rows), 9, kind="open", winner=None, says="9 patients read from the names in 'video'")


def _names_that_begin_alike(rng: Rng) -> Hostile:
    rows = [{"video": f"{p + 1:02}_{o}", "model": m, "dice": v} for p, o, m, v in nested(rng, 9, 4)]
    return Hostile(written(rows), None, asks="say --unit prefix:1 if these are patients, --unit video if every video")


def _portuguese(rng: Rng) -> Hostile:
    rows = [{"Código do paciente": f"X{p}", "Hospital": "N" if p < 6 else "S", "Modelo": m, "Acurácia": 100 * v,
             "Especificidade": 100 * v - 5} for p, m, v in scores(rng)]  # fmt: skip
    return Hostile(written(rows, ";", ","), 12, says="'Acurácia' is the primary metric")


def _italian(rng: Rng) -> Hostile:
    rows = [{"paziente": f"P{p}", "fotogramma": f, "modello": m, "dice": v} for p, f, m, v in nested(rng, 9, 6)]
    return Hostile(written(rows), 9, says="'fotogramma' lies within")


def _sequences(rng: Rng) -> Hostile:
    rows = [{"sequence": f"dataset_{p}", "frame": f"frame{f:03}.png", "model": m, "IoU": v}
            for p, f, m, v in nested(rng, 8, 6)]  # fmt: skip
    return Hostile(written(rows), 8, "sequence", says="'frame' lies within")


def _folders_above_videos(rng: Rng) -> Hostile:
    rows = [{"dossier": f"D{13 * p + 101}", "video": f"film{4 * p + f:03}", "model": m, "dice": v}
            for p, f, m, v in nested(rng, 8, 4, gain=0.0)]  # fmt: skip
    return Hostile(written(rows), None, asks="say --unit dossier if these are patients, --unit video if every video")


def _two_metrics_without_known_names(rng: Rng) -> Hostile:
    rows = [{"kod": f"D{p}", "opis": m, "wynik": v, "ocena": 10 * v} for p, m, v in scores(rng)]
    return Hostile(written(rows), None, asks="--model-column opis --unit kod --score wynik,ocena")


def _sides(rng: Rng) -> Hostile:
    rows = [{"Nr": p + 1, "Seite": "lr"[f], "Netz": m, "Dice": v} for p, f, m, v in nested(rng, 9, 2)]
    return Hostile(written(rows, ";", ","), None, asks="rows repeat")


def _one_long_video(rng: Rng) -> Hostile:
    """Nine patients favour the one model, the tenth with most of the frames the other."""
    rows = []
    for patient in range(10):
        for frame in range(200 if patient == 0 else 5):
            level, gap = rng.normal(0.8, 0.02), -0.05 if patient == 0 else 0.03
            rows += [{"patient": f"p{patient}", "frame": frame, "model": m, "dice": level + gap * (m == "B")}
                     for m in "AB"]  # fmt: skip
    return Hostile(written(rows), 10, kind="depends", winner=None)


def _title_with_a_comma(rng: Rng) -> Hostile:
    rows = [{"Patient": p + 1, "Modell": m, "Dice": v, "ASSD_mm": 9 - 9 * v} for p, m, v in scores(rng)]
    return Hostile("Auswertung, Stand Mai;;;\n;;;\n" + written(rows, ";", ","), 12, says="scores 'ASSD_mm' too")


def _more_words_for_missing(rng: Rng) -> Hostile:
    rows: list[Row] = [{"Patient": p, "Modell": m, "mIoU": "n.a." if p == 3 else v} for p, m, v in scores(rng, 15)]
    return Hostile(written(rows, ";", ","), 14, says="'n.a.' in 'mIoU' is read as no score")


def _surgeons(rng: Rng) -> Hostile:
    rows = [{"video": f"video{p:02}", "surgeon": f"S{p % 7}", "model": m, "accuracy": v} for p, m, v in scores(rng, 28)]
    return Hostile(written(rows), 28, "video")


def _index_of_a_data_frame(rng: Rng) -> Hostile:
    rows: list[Row] = [{"": f"K{p}", "UNet": a, "Swin": b} for p, (a, b) in enumerate(rng.uniform(0.6, 0.9, (12, 2)))]
    rows += [{"": "Mittelwert", "UNet": 0.75, "Swin": 0.75}, {"": "Std.-Abw.", "UNet": 0.1, "Swin": 0.1}]
    return Hostile(
        written(rows), None, "row", "no_unit", None, "larger", says="row 14 ('Std.-Abw.' in '') sums up others"
    )


MADE: dict[str, Callable[[Rng], Hostile]] = {
    name.removeprefix("_"): made
    for name, made in list(globals().items())
    if name.startswith("_") and getattr(made, "__annotations__", {}).get("return") == "Hostile"
}


def hostile_table(name: str) -> Hostile:
    """The table of this name, always the same."""
    return MADE[name](np.random.default_rng([30, *name.encode()]))
