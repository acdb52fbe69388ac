"""Tiny data sets in the published layouts, fabricated here: one function per data set writes its files."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

CHOLEC80_TOOLS = ("Grasper", "Bipolar", "Hook", "Scissors", "Clipper", "Irrigator", "SpecimenBag")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put_json(path: Path, value: object) -> None:
    put(path, json.dumps(value))


def put_png(path: Path, rows: list[bytes], *, depth: int = 8) -> None:
    """A greyscale PNG with those rows of bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), depth, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def cholec80(root: Path) -> None:
    for video in ("video01", "video41"):
        names = ["Preparation"] * 30 + ["CalotTriangleDissection"] * 30
        rows = "".join(f"{frame}\t{name}\n" for frame, name in enumerate(names))
        put(root / "phase_annotations" / f"{video}-phase.txt", "Frame\tPhase\n" + rows)
        tools = "".join(f"{frame}\t1\t0\t0\t0\t0\t0\t0\n" for frame in (0, 25, 50))
        put(root / "tool_annotations" / f"{video}-tool.txt", "\t".join(("Frame", *CHOLEC80_TOOLS)) + "\n" + tools)


def cholect45(root: Path) -> None:
    sizes = {"triplet": 100, "instrument": 6, "verb": 10, "target": 15}
    for task, size in sizes.items():
        for video in ("VID79", "VID01"):
            rows = [",".join(["0" if c != f else "1" for c in range(size)]) for f in range(3)]
            put(root / task / f"{video}.txt", "".join(f"{f},{row}\n" for f, row in enumerate(rows)))
        names = "".join(f"{c}:{task} {c}\n" for c in range(size))
        put(root / "dict" / f"{task}.txt", ("-1:null\n" if task == "instrument" else "") + names)
    rows = "".join(f"{c}, 0, 1, 2, 3, 4\n" for c in range(100))
    put(root / "dict" / "maps.txt", "IVT, I, V, T, IV, IT\n" + rows)


def cholect50(root: Path) -> None:
    null = [-1] * 14
    full = [17, 0, 1, -1, -1, -1, -1, 2, 8, 1, -1, -1, -1, -1]
    frames = {"0": [[*null, 0]], "1": [[*full, 0], [*full[:7], 1, 0, *full[9:], 0]], "2": [[*full, 1]]}
    for number, name in ((1, "VID01"), (111, "VID111")):
        content = {"video": number, "fps": 1, "num_frames": 3, "categories": {}, "annotations": frames}
        put_json(root / "labels" / f"{name}.json", content)


def endoscapes_image(video: int, frame: int, *, rated: bool, boxed: bool, ds: list[float]) -> dict[str, object]:
    return {
        "id": video * 1_000_000 + frame,
        "file_name": f"{video}_{frame}.jpg",
        "width": 854,
        "height": 480,
        "video_id": video,
        "is_ds_keyframe": rated,
        "is_det_keyframe": boxed,
        "ds": ds,
    }


def endoscapes2023(root: Path) -> None:
    categories = [{"id": n, "name": name} for n, name in enumerate(("cystic_plate", "calot_triangle", "tool"), start=1)]
    table = ["vid,frame,avg_cvs,C1,C2,C3,is_ds_keyframe,cvs_annotator_1,cvs_annotator_2,cvs_annotator_3"]
    for part, video in (("train", 8), ("val", 121), ("test", 162)):
        rated = endoscapes_image(video, 125, rated=True, boxed=True, ds=[1.0, 2 / 3, 1 / 3])
        filled = endoscapes_image(video, 150, rated=False, boxed=False, ds=[1.0, 2 / 3, 1 / 3])
        box = {"id": 1, "image_id": rated["id"], "category_id": 3, "bbox": [10, 20, 30, 40], "iscrowd": 0}
        labels = {"categories": categories, "annotations": []}
        put_json(root / part / "annotation_ds_coco.json", {**labels, "images": [rated]})
        put_json(root / part / "annotation_coco_vid.json", {**labels, "images": [rated, filled]})
        put_json(root / part / "annotation_coco.json", {**labels, "images": [rated], "annotations": [box]})
        put_json(root / f"{part}_seg" / "annotation_coco.json", {**labels, "images": [rated], "annotations": [box]})
        put(root / f"{part}_vids.txt", f"{video}.0\n")
        table += [f'{video},125,,1,0.67,0.33,True,"[1, 1, 0]","[1, 1, 0]","[1, 0, 1]"', f"{video},150,,,,,False,,,"]
    put(root / "all_metadata.csv", "\n".join(table) + "\n")
    for fold in ("12_5/train_0", "25/train_2"):
        (root / fold).mkdir(parents=True)
        (root / fold / "8_125.jpg").write_bytes(b"")
    (root / "insseg").mkdir()
    (root / "insseg" / "8_125.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'shape': (1, 2, 2)}")
    put(root / "insseg" / "8_125.csv", "1\n")
    put_png(root / "semseg" / "8_125.png", [b"\0\1"])


def heichole(root: Path) -> None:
    base = root / "Annotations"
    for video in (1, 16):
        rows = range(101)
        name = f"Hei-Chole{video}_Annotation"
        put(base / "Phase" / f"{name}_Phase.csv", "".join(f"{f},{f // 60}\n" for f in rows))
        put(base / "Instrument" / f"{name}_Instrument.csv", "".join(f"{f},1{',0' * 20}\n" for f in rows))
        put(base / "Action" / f"{name}_Action.csv", "".join(f"{f},1,0,0,1\n" for f in rows))
        for part in (1, 2, 3):
            put(base / "Skill" / f"{name}_Skill_{part}.csv", "3,4,5,2,1\n")


def put_workbook(path: Path, rows: list[list[object]]) -> None:
    """A workbook with one sheet; texts are shared strings and the first column is left to its place."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    texts = sorted({str(cell) for row in rows for cell in row if isinstance(cell, str)})

    def cell(row: int, column: int, value: object) -> str:
        name = f"{chr(ord('A') + column)}{row}"
        if isinstance(value, str):
            return f'<c r="{name}" t="s"><v>{texts.index(value)}</v></c>'
        return "" if value is None else f'<c r="{name}"><v>{value}</v></c>'

    lines = [
        f'<row r="{n}">{"".join(cell(n, c, value) for c, value in enumerate(row))}</row>'
        for n, row in enumerate(rows, 1)
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{''.join(lines)}</sheetData></worksheet>"
        )
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{''.join(f'<si><t>{t}</t></si>' for t in texts)}</sst>")


CVS_HEADER = [
    *("video", "initial_minute", "initial_second", "final_minute", "final_second"),
    *("two_structures", "cystic_plate", "hepatocystic_triangle", "Total", "critical_view"),
]


def cholec80_cvs(root: Path) -> None:
    rows = [[1, 10, 0, 10, 30, 2, 1, 2, 5, 1], [2, 9, 0, 9, 5, 0, 1, 0, 1, 0], [2, 9, 30, 9, 5, 0, 0, 0, 0, 0]]
    put_workbook(root / "annotations.xlsx", [CVS_HEADER, *rows])
    put_json(root / "data" / "folds.json", [[1, 2], [3, 4]])


def cholecseg8k(root: Path) -> None:
    for video, clip in (("video01", "video01_00080"), ("video52", "video52_02746")):
        for kind in ("endo", "endo_mask", "endo_color_mask", "endo_watershed_mask"):
            put_png(root / video / clip / f"frame_80_{kind}.png", [bytes([50, 31])])


def tracked_tool(**changes: object) -> dict[str, object]:
    tool = {"tool_bbox": [0.1, 0.2, 0.3, 0.4], "instrument": 0, "operator": 1, "phase": 2, "smoke": 1}
    tool |= {"intraoperative_track": 1, "intracorporeal_track": 2, "visibility_track": 3}
    return tool | changes


def cholectrack20(root: Path) -> None:
    for part, video in (("training", "VID01"), ("testing", "VID92")):
        other = {f"{name}_track": 7 for name in ("intraoperative", "intracorporeal", "visibility")}
        content = {
            "video": {"name": video, "width": 854, "height": 480},
            "annotations": {"25": [tracked_tool()], "50": [tracked_tool(), tracked_tool(**other, instrument=2)]},
        }
        put_json(root / part / video / f"{video}.json", content)


def bypass(phases: list[tuple[int, int, int]]) -> dict[str, object]:
    entries = [{"start": a, "end": b, "label_name": f"p{i}", "label_id": i} for a, b, i in phases]
    return {"phases": entries, "steps": [{"start": 0, "end": 2500, "label_name": "s", "label_id": 3}]}


def multibypass140(root: Path) -> None:
    for center, video in (("bern", "BBP01"), ("strasbourg", "SBP02")):
        content = bypass([(0, 2500, 0), (2500, 5000, 1), (1000, 3000, 12)])
        put_json(root / "labels" / center / "labels_by70" / f"{video}.mp4.json", content)


def autolaparo(root: Path) -> None:
    for video in (1, 15):
        put(root / "task1" / "labels" / f"label_{video:02}.txt", "Frame\tPhase\n1\t1\n2\t1\n3\t2\n")
    rows = "".join(f"{clip:03}\t{clip % 7}\t2\n" for clip in (1, 227, 228))
    put(root / "task2" / "laparoscope_motion_label.txt", "Clip\tLabel\tTime\n" + rows)


def heico(root: Path) -> None:
    for split, surgery in (("Training", "Proctocolectomy"), ("Stage_3", "Sigmoid")):
        for name in ("raw", "instrument_instances"):
            put_png(root / split / surgery / "4" / "1250" / f"{name}.png", [b"\0\1\2"])


def avos(root: Path) -> None:
    rows = ["a-b-_c,0,90,cutting", "xyz,10,20,none", "xyz,20,80,suturing"]
    put(
        root / "open_surgery_temporal_annotations_Jan16.csv", "\n".join(["video_id,start_frame,end_frame,label", *rows])
    )
    put(root / "train.csv", "video_id\na-b-_c\n")
    put(root / "test.csv", "video_id\nxyz\n")
    put(root / "images" / "a-b-_c-30.jpg", "")


def sar_rarp50(root: Path) -> None:
    for part, video in (("train1", "video_01"), ("test", "video_41")):
        put(root / part / video / "action_discrete.txt", "".join(f"{6 * n},{n % 8}\n" for n in range(21)))
        for frame in (0, 60, 120):
            put_png(root / part / video / "segmentation" / f"{frame:09}.png", [b"\0\1"])


def jigsaws(root: Path) -> None:
    for task in ("Suturing", "Knot_Tying", "Needle_Passing"):
        put(root / task / "transcriptions" / f"{task}_B001.txt", "80 210 G1 \n211 330 G5 \n")
        put(root / task / "kinematics" / "AllGestures" / f"{task}_B001.txt", " ".join(["0.5"] * 76) + "\n")
        rows = [f"{task}_B00{n}\t\tN\t\t13\t2\t3\t2\t2\t2\t2" for n in (1, 2)]
        put(root / task / f"meta_file_{task}.txt", "\n".join(rows) + "\n\n")


def dresden(root: Path) -> None:
    for organ, surgery in (("liver", "01"), ("colon", "03")):
        for image in ("00", "01"):
            put_png(root / organ / surgery / f"image{image}.png", [b"\0\1"])
            put_png(root / organ / surgery / f"mask{image}.png", [b"\0\xff"])
        put(root / organ / surgery / "weak_labels.csv", "Frame,liver,colon,\nimages0,1,0,\nimages1,0,1,\n")
    put_png(root / "multilabel" / "02" / "image07.png", [b"\0\1"])
    for organ in ("liver", "colon"):
        put_png(root / "multilabel" / "02" / f"mask07_{organ}.png", [b"\0\xff"])


BUILDERS: dict[str, Callable[[Path], None]] = {
    "autolaparo": autolaparo,
    "avos": avos,
    "cholec80": cholec80,
    "cholec80_cvs": cholec80_cvs,
    "cholecseg8k": cholecseg8k,
    "cholect45": cholect45,
    "cholect50": cholect50,
    "cholectrack20": cholectrack20,
    "dresden": dresden,
    "endoscapes2023": endoscapes2023,
    "heichole": heichole,
    "heico": heico,
    "jigsaws": jigsaws,
    "multibypass140": multibypass140,
    "sar_rarp50": sar_rarp50,
}
"""Each data set with the function that writes a tiny one."""
