"""Tiny data sets in the published layouts, fabricated here: one function per data set writes its files."""

from __future__ import annotations

import json
import struct
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


BUILDERS: dict[str, Callable[[Path], None]] = {
    "cholec80": cholec80,
    "cholect45": cholect45,
    "cholect50": cholect50,
    "endoscapes2023": endoscapes2023,
    "heichole": heichole,
}
"""Each data set with the function that writes a tiny one."""
