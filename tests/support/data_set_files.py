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


def put_png(path: Path, rows: list[bytes], *, depth: int = 8, width: int | None = None, colour: int = 0) -> None:
    """A PNG with those rows of bytes, greyscale unless `colour` says otherwise."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width or len(rows[0]), len(rows), depth, colour, 0, 0, 0)
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
        put(root / f"{part}_vids.txt", f"{video:.18e}\n")
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
        for part in ("", "_Calot", "_Dissection"):
            put(base / "Skill" / f"Hei-Chole{video}{part}_Skill.csv", "3,4,5,2,1\n")


def put_workbook(path: Path, rows: list[list[object]], **further: list[list[object]]) -> None:
    """A workbook; texts are shared strings and the first column is left to its place.

    With further sheets, by name, those come first in the order of tabs, and the rows given are the sheet 'Notes'.
    """
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    sheets = {"Notes": rows, **further}
    texts = sorted({str(cell) for some in sheets.values() for row in some for cell in row if isinstance(cell, str)})

    def cell(row: int, column: int, value: object) -> str:
        name = f"{chr(ord('A') + column)}{row}"
        if isinstance(value, str):
            return f'<c r="{name}" t="s"><v>{texts.index(value)}</v></c>'
        return "" if value is None else f'<c r="{name}"><v>{value}</v></c>'

    with zipfile.ZipFile(path, "w") as archive:
        for number, some in enumerate(sheets.values(), 1):
            lines = [
                f'<row r="{n}">{"".join(cell(n, c, value) for c, value in enumerate(row))}</row>'
                for n, row in enumerate(some, 1)
            ]
            archive.writestr(
                f"xl/worksheets/sheet{number}.xml",
                f"<worksheet {space}><sheetData>{''.join(lines)}</sheetData></worksheet>",
            )
        archive.writestr("xl/sharedStrings.xml", f"<sst {space}>{''.join(f'<si><t>{t}</t></si>' for t in texts)}</sst>")
        if further:
            office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
            tabs = [*list(enumerate(sheets, 1))[1:], (1, "Notes")]
            listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in tabs)
            archive.writestr(
                "xl/workbook.xml", f'<workbook {space} xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
            )
            package = "http://schemas.openxmlformats.org/package/2006/relationships"
            links = "".join(f'<Relationship Id="rId{n}" Target="worksheets/sheet{n}.xml"/>' for n, _ in tabs)
            archive.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}">{links}</Relationships>')


CVS_HEADER = [
    *("video", "initial_minute", "initial_second", "final_minute", "final_second"),
    *("two_structures", "cystic_plate", "hepatocystic_triangle", "Total", "critical_view"),
]


def cholec80_cvs(root: Path) -> None:
    rows = [[1, 10, 0, 10, 30, 2, 1, 2, 5, 1], [2, 9, 0, 9, 5, 0, 1, 0, 1, 0], [2, 9, 30, 9, 5, 0, 0, 0, 0, 0]]
    put_workbook(root / "surgeons_annotations.xlsx", [CVS_HEADER, *rows])
    put_json(root / "data" / "folds.json", {"folds": [["video01", "video03"], ["video02", "video04"]]})
    put(root / "results" / "videos_frames_index.csv", "video_name,final_frame\nvideo01,15750\nvideo02,13750\n")


def cholecseg8k(root: Path) -> None:
    for video, clip in (("video01", "video01_00080"), ("video52", "video52_02746")):
        for kind in ("endo", "endo_mask", "endo_color_mask", "endo_watershed_mask"):
            put_png(root / video / clip / f"frame_80_{kind}.png", [bytes([50, 31])])


def tracked_tool(**changes: object) -> dict[str, object]:
    tool = {"tool_bbox": [0.1, 0.2, 0.3, 0.4], "instrument": 0, "operator": 1, "phase": 2, "smoke": 1}
    tool |= {"intraoperative_track": 1, "intracorporeal_track": 2, "visibility_track": 3}
    return tool | changes


def cholectrack20(root: Path) -> None:
    for part, video in (("Training", "VID01"), ("Testing", "VID92")):
        other = {f"{name}_track": 7 for name in ("intraoperative", "intracorporeal", "visibility")}
        content = {
            "video": {"name": video, "width": 854, "height": 480},
            "annotations": {"1": [tracked_tool()], "26": [tracked_tool(), tracked_tool(**other, instrument=2)]},
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
        text = "Frame\tPhase\n1\t1\n2\t1\n3\t2\n"
        put(root / "Task 1 Surgical workflow recognition" / "labels" / f"label_{video:02}.txt", text)
    rows = "".join(f"{clip:03}\t{clip % 7}\t2\n" for clip in (1, 227, 228))
    put(root / "Task 2 Laparoscope motion prediction" / "laparoscope_motion_label.txt", "Clip\tLabel\tPhase\n" + rows)
    for name in ("001001", "001025", "228125"):
        place = root / "Task 3 Instrument and key anatomy segmentation" / "masks" / f"{name}.png"
        put_png(place, [bytes([0, 20, 180])])


def heico(root: Path) -> None:
    """Procedure 1 of two types of surgery: two patients."""
    for surgery in ("Proctocolectomy", "Rectal Resection"):
        one = root / surgery / "1"
        for name in ("raw", "instrument_instances"):
            put_png(one / "Instrument segmentations" / "1250" / f"{name}.png", [b"\0\1\2"])
        put(
            one / f"{surgery.replace(' ', '')}_1_Phase.csv", "".join(f"{frame},{frame // 60}\n" for frame in range(120))
        )


def robust_mis(root: Path) -> None:
    for split, surgery in (("Training", "Proctocolectomy"), ("Stage_3", "Sigmoid")):
        for name in ("raw", "instrument_instances"):
            put_png(root / split / surgery / "4" / "1250" / f"{name}.png", [b"\0\1\2"])


def avos(root: Path) -> None:
    head = ",video_id,start_seconds,end_seconds,start_frame,end_frame,label"
    rows = ["0,a-b-_c,0.0,3.0,0,90,cutting", "1,xyz,0.5,1.0,10,20,none", "2,xyz,1.0,4.0,20,80,suturing"]
    put(root / "open_surgery_temporal_annotations_Jan16.csv", "\n".join([head, *rows]))
    boxes = ["a-b-_c-30.jpg,10,20,110,140,hand", "a-b-_c-30.jpg,60,70,90,160,needledriver", "xyz-40.jpg,1,2,3,4,hand"]
    put(root / "open_surgery_bboxes_Jan16.csv", "\n".join(["image_name,x1,y1,x2,y2,class", *boxes]))
    put(root / "train.csv", "video_id\na-b-_c\n")
    put(root / "test.csv", "video_id\nxyz\n")
    put(root / "images" / "a-b-_c-30.jpg", "")


def sar_rarp50(root: Path) -> None:
    for part, video in (("train1", "video_01"), ("test", "video_41")):
        put(root / part / video / "action_discrete.txt", "".join(f"{6 * n:09},{n % 8}\n" for n in range(21)))
        for frame in (0, 60, 120):
            put_png(root / part / video / "segmentation" / f"{frame:09}.png", [b"\0\1"])


def surgvu(root: Path) -> None:
    tasks = "index,start_part,start_time,stop_part,stop_time,groundtruth_taskname\n"
    tools = (
        "index,install_case_part,install_case_time,uninstall_case_part,uninstall_case_time,arm,commercial_toolname,"
        "groundtruth_toolname\n"
    )
    for case in ("case_000", "case_001"):
        put(root / "labels" / case / "tasks.csv", f"{tasks}0,1,5.0,1,120.0,Suturing\n1,1,130.0,2,60.0,suturing \n")
        rows = [
            "0,1.0,00:00:10.000000,2.0,00:01:40.500000,USM1,Large Needle Driver,needle driver ",
            "1,1.0,00:00:20.500000,1.0,00:00:00.000000,USM2,Clip Applier,clip applier",
            "2,1.0,00:00:00.000000,1.0,00:00:00.000000,USM3,Endoscope,nan(camera in)",
        ]
        put(root / "labels" / case / "tools.csv", tools + "\n".join(rows) + "\n")


_TRIALS = {"B001": "N", "B002": "N", "B003": "N", "C001": "E"}


def jigsaws(root: Path) -> None:
    for task in ("Suturing", "Knot_Tying", "Needle_Passing"):
        text = f"80 210 G1 \r\n211 330 G{11 if task == 'Knot_Tying' else 5} \r\n"
        for trial in ("B001", "B002", "C001"):
            put(root / task / "transcriptions" / f"{task}_{trial}.txt", text)
        put(root / task / "kinematics" / "AllGestures" / f"{task}_B001.txt", " ".join(["0.5"] * 76) + "\n")
        rows = [f"{task}_{trial}\t\t{level}\t13\t\t2\t3\t2\t2\t2\t2" for trial, level in _TRIALS.items()]
        put(root / task / f"meta_file_{task}.txt", "\n".join(rows) + "\n\n")


def dresden(root: Path) -> None:
    for organ, surgery in (("liver", "01"), ("colon", "03")):
        for image in ("00", "01"):
            put_png(root / organ / surgery / f"image{image}.png", [b"\0\1"])
            put_png(root / organ / surgery / f"mask{image}.png", [b"\0\xff"])
        labels = {"liver": "0,0,0,0,1,0,0,0,0,0,0,0,", "colon": "0,1,0,0,0,0,0,0,0,0,0,0,"}
        rows = f"images00.png,{labels['liver']}\nimages01.png,{labels['colon']}\n"
        put(root / organ / surgery / "weak_labels.csv", rows)
    put_png(root / "multilabel" / "02" / "image07.png", [b"\0\1"])
    for organ in ("liver", "colon"):
        put_png(root / "multilabel" / "02" / f"mask07_{organ}.png", [b"\0\xff"])


PROSTATECTOMY = {
    "categories": [{"id": 1, "name": "Bipolar Forceps"}, {"id": 2, "name": "Prograsp Forceps"}],
}


def prostatectomy(cases: tuple[str, ...], **labels: int) -> dict[str, object]:
    """A COCO file as GraSP and PSI-AVA have it: an image with a box and one without, per case."""
    images, annotations = [], []
    for case in cases:
        for second in (1, 36):
            number = len(images) + 1
            name = f"{case}/{second:05}.jpg"
            images.append({"id": number, "file_name": name, "width": 1280, "height": 800})
            box = {"bbox": [10, 20, 300, 400], "category_id": 1 + number % 2, "actions": [5, 6], "iscrowd": 0}
            annotations.append({"id": number, "image_id": number, "image_name": name, **labels, **box})
    return {**PROSTATECTOMY, "images": images, "annotations": annotations}


def grasp(root: Path) -> None:
    base = root / "GraSP_1fps" / "annotations"
    for part, cases in (("train", ("CASE001", "CASE002")), ("test", ("CASE041",))):
        long = prostatectomy(cases, phases=3, steps=7)
        for one in long["annotations"]:
            del one["bbox"], one["category_id"], one["actions"]
        put_json(base / f"grasp_long-term_{part}.json", long)
        put_json(base / f"grasp_short-term_{part}.json", prostatectomy(cases, phases=3, steps=7))


def psi_ava(root: Path) -> None:
    for part, cases in (("train", ("CASE002", "CASE003")), ("val", ("CASE001", "CASE004"))):
        put_json(root / "coco_anns" / f"{part}_coco_anns_v3_35s.json", prostatectomy(cases, phase=0, step=4))


def m2cai16(root: Path) -> None:
    for name in ("workflow_video_01", "test_workflow_video_01"):
        phases = ["TrocarPlacement"] * 30 + ["Preparation"] * 30
        rows = "".join(f"{frame}\t{phase}\n" for frame, phase in enumerate(phases))
        put(root / name.split("_video")[0] / f"{name}.txt", "Frame\tPhase\n" + rows)
    put(root / "test_workflow" / "test_workflow_video_01_pred.txt", "Frame\tPhase\n0\tPreparation\n")
    for name in ("tool_video_01", "tool_video_11"):
        tools = "".join(f"{frame}\t1\t0\t0\t0\t0\t0\t0\n" for frame in (0, 25, 50))
        put(root / "tool" / f"{name}.txt", "\t".join(("Frame", *CHOLEC80_TOOLS)) + "\n" + tools)


def endovis2017(root: Path) -> None:
    for number in (1, 9):
        place = root / "instrument_2017_test" / f"instrument_dataset_{number}"
        put_png(place / "BinarySegmentation" / "frame225.png", [b"\0\xff"])
        put_png(place / "TypeSegmentation" / "frame225.png", [b"\0\3"])
        truth = root / "instrument_1_4_training" / f"instrument_dataset_{number}" / "ground_truth"
        put_png(truth / "Left_Prograsp_Forceps_labels" / "frame000.png", [b"\0\12"])


def put_colours(path: Path, rows: list[list[tuple[int, ...]]]) -> None:
    """A colour PNG with those rows of pixels; four numbers a pixel are RGBA."""
    colour = {3: 2, 4: 6}[len(rows[0][0])]
    put_png(path, [bytes(n for pixel in row for n in pixel) for row in rows], width=len(rows[0]), colour=colour)


def endovis2018(root: Path) -> None:
    for number in (1, 2):
        release = root / "miccai_challenge_2018_release_1" / f"seq_{number}" / "labels"
        put_colours(release / "frame000.png", [[(0, 0, 0), (0, 255, 0), (255, 55, 0)]])
        put_colours(release / "frame001.png", [[(0, 0, 0, 255), (187, 155, 25, 255)]])


def cholecinstanceseg(root: Path) -> None:
    shape = {"label": "grasper", "group_id": 1, "shape_type": "polygon", "points": [[1, 1], [9, 1], [9, 9]]}
    second = {**shape, "points": [[20, 20], [30, 20], [30, 30]]}
    hook = {**shape, "label": "hook", "group_id": 2, "points": [[40, 40], [50, 40], [50, 55]]}
    drawn = {"train/VID01": [shape, second, hook], "val/VID03": [hook], "val/VID11": []}
    for place, shapes in drawn.items():
        part, video = place.split("/")
        content = {"version": "1.0.0", "flags": {}, "shapes": shapes, "imageHeight": 480, "imageWidth": 854}
        put_json(root / part / f"{video}_t80_sparse" / "ann_dir" / f"t80_{video}_000060.json", content)


def ssg_vqa(root: Path) -> None:
    text = "header line\nsecond line\nHow many tools are there?|2|zero_hop.json|count\nIs there a hook?|yes|one|exist\n"
    for video in ("VID01", "VID22"):
        put(root / "qa_txt" / video / "1.txt", text)


def pitvqa(root: Path) -> None:
    text = "What is the phase of image?|nasal_sphenoid\nWhat is the second instrument?|no_secondary_instrument\n"
    for video in ("video_01", "video_02"):
        put(root / "QA" / video / "00001.txt", text + "How many instruments are present?|one\n")


def endovis18_vqa(root: Path) -> None:
    for sequence in ("seq_1", "seq_2"):
        questions = "what organ is being operated?|kidney\nwhat is the state of bipolar_forceps?|Idle\n"
        put(root / sequence / "vqa" / "Classification" / "frame000_QA.txt", questions)
        located = "what organ is being operated?|kidney|1,1,1280,1024\n"
        put(root / sequence / "vqla" / "label" / "frame000_QA.txt", located)


def cholec80_vqa(root: Path) -> None:
    for video in ("1", "5"):
        questions = "what is the phase?|preparation\nis the hook there?|no\n"
        put(root / "Classification" / video / "100_QA.txt", questions)


BUILDERS: dict[str, Callable[[Path], None]] = {
    "autolaparo": autolaparo,
    "avos": avos,
    "cholec80": cholec80,
    "cholec80_cvs": cholec80_cvs,
    "cholecseg8k": cholecseg8k,
    "cholec80_vqa": cholec80_vqa,
    "cholecinstanceseg": cholecinstanceseg,
    "cholect45": cholect45,
    "cholect50": cholect50,
    "cholectrack20": cholectrack20,
    "dresden": dresden,
    "endoscapes2023": endoscapes2023,
    "endovis18_vqa": endovis18_vqa,
    "endovis2017": endovis2017,
    "endovis2018": endovis2018,
    "grasp": grasp,
    "heichole": heichole,
    "heico": heico,
    "jigsaws": jigsaws,
    "m2cai16": m2cai16,
    "multibypass140": multibypass140,
    "pitvqa": pitvqa,
    "psi_ava": psi_ava,
    "sar_rarp50": sar_rarp50,
    "ssg_vqa": ssg_vqa,
    "surgvu": surgvu,
}
"""Each data set with the function that writes a tiny one."""
