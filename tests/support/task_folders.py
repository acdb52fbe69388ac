"""Miniatures of the layouts that tasks read, media included: two test videos or more, a train part if there is one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from data_set_files import CHOLEC80_TOOLS, bypass, endoscapes_image, put, put_json, put_png
from surgvalid import score
from surgvalid.tasks import TaskInstance
from surgvalid.tasks.task import Layout, TaskForm
from timecode_videos import stamped_video

SECONDS = 12
ROWS = [b"\0\0\0" * 8] * 6
"""An image of 8 x 6 pixels."""


@cache
def tiny_video() -> Path:
    """A video of twelve seconds at five frames per second, made once."""
    path = Path(mkdtemp()) / "tiny.mp4"
    return stamped_video(path, range(0, SECONDS * 1000, 200), size=(96, 56))


def put_image(path: Path) -> None:
    put_png(path, ROWS, width=8, colour=2)


def put_video(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(tiny_video(), path)


def cholec80(root: Path) -> None:
    for place, video in enumerate(("video01", "video49", "video50")):
        names = ["Preparation"] * 100 + ["ClippingCutting"] * (60 + 60 * (place % 2))
        put(root / "phase_annotations" / f"{video}-phase.txt",
            "Frame\tPhase\n" + "".join(f"{f}\t{n}\n" for f, n in enumerate(names)))  # fmt: skip
        rows = "".join(f"{f}\t1\t0\t{int(f > 0)}\t0\t0\t0\t0\n" for f in range(0, 150, 25))
        put(root / "tool_annotations" / f"{video}-tool.txt", "\t".join(("Frame", *CHOLEC80_TOOLS)) + "\n" + rows)
        part = "train" if video == "video01" else "test"
        for frame in (0, 25, 50, 125):
            put_image(root / "frames_25fps" / part / video / f"{frame}.jpg")


def heichole(root: Path) -> None:
    base = root / "Annotations"
    for video in (1, 4, 11, 12):
        name = f"Hei-Chole{video}_Annotation"
        frames = range(51)
        put(base / "Phase" / f"{name}_Phase.csv", "".join(f"{f},{f // 30 + video % 2}\n" for f in frames))
        put(base / "Instrument" / f"{name}_Instrument.csv", "".join(f"{f},1,{f // 30}{',0' * 19}\n" for f in frames))
        put(base / "Action" / f"{name}_Action.csv", "".join(f"{f},1,{f // 30},0,1\n" for f in frames))
        for section in ("", "_Calot", "_Dissection"):
            put(base / "Skill" / f"Hei-Chole{video}{section}_Skill.csv", f"3,4,5,{2 + video % 3},1\n")
        for frame in (0, 25, 50):
            put_image(root / "extracted_frames" / f"Hei-Chole{video}" / f"frame_{frame:05}.png")
        put_video(root / "videos-skill-dissection" / f"Hei-Chole{video}_dissection.mp4")


def cholect45(root: Path) -> None:
    for task, size in {"triplet": 100, "instrument": 6, "verb": 10, "target": 15}.items():
        for video in ("VID06", "VID51", "VID79"):
            rows = [",".join("1" if c in (f % 3, 4) else "0" for c in range(size)) for f in range(10)]
            put(root / task / f"{video}.txt", "".join(f"{f},{row}\n" for f, row in enumerate(rows)))
    for video in ("VID06", "VID51"):
        for frame in (0, 5):
            put_image(root / "rgb" / video / f"{frame:06}.png")


def endoscapes2023(root: Path) -> None:
    names = ("cystic_plate", "calot_triangle", "cystic_artery", "cystic_duct", "gallbladder", "tool")
    categories = [{"id": n, "name": name} for n, name in enumerate(names, start=1)]
    for part, videos in (("train", (8, 9)), ("val", (121,)), ("test", (162, 163))):
        images, boxes = [], []
        for video in videos:
            for frame in (125, 250):
                image = endoscapes_image(video, frame, rated=True, boxed=True, ds=[1.0, frame / 250 // 1, 0.0])
                image |= {"width": 8, "height": 6}
                images.append(image)
                for kind in (5, 6) if frame == 125 else ():
                    box = {"id": len(boxes) + 1, "image_id": image["id"], "category_id": kind, "iscrowd": 0}
                    boxes.append(box | {"bbox": [1, 1, 4, 3]})
                put_image(root / part / f"{video}_{frame}.jpg")
        content = {"categories": categories, "annotations": []}
        for kind in ("ds_coco", "coco_vid"):
            put_json(root / part / f"annotation_{kind}.json", {**content, "images": images})
        put_json(root / part / "annotation_coco.json", {**content, "images": images, "annotations": boxes})


def avos(root: Path) -> None:
    head = ",video_id,start_seconds,end_seconds,start_frame,end_frame,label"
    rows = ["0,a-b-_c,0.0,3.0,0,90,cutting", "1,xyz,0.5,1.0,10,20,none", "2,xyz,1.0,4.0,20,110,suturing",
            "3,u-v,0.0,3.0,0,90,tying", "4,t,0.0,3.0,0,90,cutting"]  # fmt: skip
    put(root / "open_surgery_temporal_annotations_Jan16.csv", "\n".join([head, *rows]))
    boxes = [
        "t-30.jpg,1,1,5,5,hand",
        "xyz-40.jpg,1,1,5,5,hand",
        "xyz-40.jpg,2,2,6,5,bovie",
        "u-v-30.jpg,1,1,4,4,forceps",
    ]
    put(root / "open_surgery_bboxes_Jan16.csv", "\n".join(["image_name,x1,y1,x2,y2,class", *boxes]))
    put(root / "train.csv", "video_id\nt\n")
    put(root / "test.csv", "video_id\nxyz\nu-v\na-b-_c\n")
    for name in ("t-30", "xyz-40", "u-v-30", "a-b-_c-30"):
        put_image(root / "images" / f"{name}.jpg")


def dresden(root: Path) -> None:
    for organ, surgery in (("liver", "01"), ("colon", "02"), ("liver", "07")):
        for image in ("00", "01"):
            put_image(root / organ / surgery / f"image{image}.png")
            put_png(root / organ / surgery / f"mask{image}.png", [b"\0\xff\xff\0"] * 4)
        labels = ("0,0,0,0,1,0,0,0,0,0,0,0,", "0,1,0,0,0,0,0,0,0,0,0,0,")
        rows = "".join(f"images{n:02}.png,{text}\n" for n, text in enumerate(labels))
        put(root / organ / surgery / "weak_labels.csv", rows)


def multibypass140(root: Path) -> None:
    for center, video in (("bern", "BBP01"), ("strasbourg", "SBP02")):
        content = bypass([(0, 15000, 0), (15000, 45000, 1)])
        put_json(root / "labels" / center / "labels_by70" / f"{video}.mp4.json", content)
        for second in (0, 20, 40):
            put_image(root / "datasets" / "MultiBypass140" / f"{center}70" / "frames" / video / f"{second}.jpg")


def jigsaws(root: Path) -> None:
    for task in ("Suturing", "Knot_Tying", "Needle_Passing"):
        for trial in ("B001", "C001"):
            text = f"30 90 G1 \r\n91 150 G{11 if task == 'Knot_Tying' else 5} \r\n"
            put(root / task / "transcriptions" / f"{task}_{trial}.txt", text)
            put_video(root / task / "video" / f"{task}_{trial}_capture1.avi")
        rows = [
            f"{task}_{t}\t\t{s}\t{13 + r}\t\t{2 + r}\t3\t2\t2\t2\t2" for t, s, r in (("B001", "N", 0), ("C001", "E", 1))
        ]
        put(root / task / f"meta_file_{task}.txt", "\n".join(rows) + "\n")


def autolaparo(root: Path) -> None:
    rows = "".join(f"{clip:03}\t{clip % 3}\t2\n" for clip in (1, 2, 228, 229, 230))
    put(root / "Task 2" / "laparoscope_motion_label.txt", "Clip\tLabel\tPhase\n" + rows)
    for clip in (228, 229, 230):
        put_video(root / "Task 2" / "clips_0_to_T" / f"{clip:03}.mp4")
    for name in ("001001", "002025"):
        put_png(root / "Task 3" / "masks" / f"{name}.png", [bytes([0, 20, 180, 180])] * 4)
        put_image(root / "Task 3" / "imgs" / f"{name}.jpg")


def sar_rarp50(root: Path) -> None:
    for part, video in (("train1", "video_01"), ("test", "video_41"), ("test", "video_42")):
        for frame in (0, 60):
            put_png(root / part / video / "segmentation" / f"{frame:09}.png", [b"\0\1\2\2"] * 4)
            put_image(root / part / video / "rgb" / f"{frame:09}.png")


DATA_SETS: dict[str, Callable[[Path], None]] = {
    one.__name__: one
    for one in (cholec80, heichole, cholect45, endoscapes2023, avos, dresden, multibypass140, jigsaws, autolaparo,
                sar_rarp50)
}  # fmt: skip


def _cholec80_videos(root: Path) -> None:
    shutil.rmtree(root / "frames_25fps")
    for video in ("video01", "video49", "video50"):
        put_video(root / "videos" / f"{video}.mp4")


def _heichole_videos(root: Path) -> None:
    shutil.rmtree(root / "extracted_frames")
    for video in (1, 4, 11, 12):
        put_video(root / "Videos" / "Full_SD" / f"Hei-Chole{video}.mp4")


def _cholect45_frames(root: Path) -> None:
    (root / "rgb").rename(root / "data")


def _multibypass140_frames(root: Path) -> None:
    shutil.rmtree(root / "datasets")
    for center, video in (("bern", "BBP01"), ("strasbourg", "SBP02")):
        for second in (0, 20, 40):
            put_image(root / center / "labels_by70_splits" / "frames" / video / f"img{second + 1}.jpg")


def _autolaparo_folders(root: Path) -> None:
    (root / "Task 2" / "clips_0_to_T").rename(root / "Task 2" / "clips")
    (root / "Task 2").rename(root / "Task 2 Laparoscope motion prediction")
    (root / "Task 3").rename(root / "Task 3 Instrument and key anatomy segmentation")


def _sar_rarp50_videos(root: Path) -> None:
    for video in root.glob("*/video_*"):
        shutil.rmtree(video / "rgb")
        put_video(video / "video_left.avi")


_AS_DOWNLOADED: dict[str, Callable[[Path], None]] = {
    "cholec80": _cholec80_videos,
    "heichole": _heichole_videos,
    "cholect45": _cholect45_frames,
    "multibypass140": _multibypass140_frames,
    "autolaparo": _autolaparo_folders,
    "sar_rarp50": _sar_rarp50_videos,
}
"""What lies elsewhere before anybody has cut frames or moved folders; the other sets come as they are used."""


def own_folder(task: TaskInstance, root: Path) -> None:
    """A folder of one's own: three videos, two of them for testing, two cases each."""
    rows = []
    for place, (video, part) in enumerate((("v1", "train"), ("v2", "test"), ("v3", "test"))):
        for number in range(2):
            row = {"case": f"{video}-{number}", "video": video, "patient": f"p{place}", "split": part}
            row |= _reference(task, place + number)
            kind = "png" if task.media.kind == "image" else "mp4"
            row["file"] = f"media/{video}.{kind}"
            rows.append(row)
        (put_image if task.media.kind == "image" else put_video)(root / str(rows[-1]["file"]))
    head = list(rows[0])
    lines = [",".join(head), *(",".join(str(row[name]) for name in head) for row in rows)]
    put(root / "cases.csv", "\n".join(lines) + "\n")


def _reference(task: TaskInstance, number: int) -> dict[str, object]:
    answer = task.answer
    if answer.form is TaskForm.LABELS:
        return {column: int((number + place) % 2) for place, column in enumerate(answer.columns)}
    if answer.form is TaskForm.SPAN:
        error = ("bleeding", "bile spillage")[number % 2]
        return {answer.start: 2 + number, answer.end: 6 + number, "error_type": error, "start_s": 0, "end_s": 10}
    more = {"item": "Efficiency"} if task.prompts == "skill-im" else {}
    clip = {"start_s": 0, "end_s": 10} if task.media.kind == "video" else {}
    return {answer.column: answer.classes[number % len(answer.classes)], **more, **clip}


def build(task: TaskInstance, root: Path) -> Path:
    """The miniature of a task's data below a root."""
    root.mkdir(parents=True, exist_ok=True)
    own_folder(task, root) if task.data.layout is Layout.CASES else DATA_SETS[task.data.data_set](root)
    return root


def downloaded(task: TaskInstance, root: Path) -> Path:
    """The same as its owners hand it out: whole videos where they give videos, their names of folders."""
    build(task, root)
    if task.data.data_set in _AS_DOWNLOADED:
        _AS_DOWNLOADED[task.data.data_set](root)
    return root


def right_answer(task: TaskInstance, row: dict[str, object]) -> str:
    """The reference of a case in the words of an obliging model."""
    answer = task.answer
    if answer.form is TaskForm.LABELS and answer.lists:
        return json.dumps({answer.key: [name for name in answer.classes if row[f"reference:{name}"]] or ["null"]})
    if answer.form is TaskForm.LABELS:
        return json.dumps({name: bool(row[f"reference:{name}"]) for name in reversed(answer.classes)})
    if answer.form is TaskForm.CHOICE:
        return f'{{"{answer.key}": "{row["reference"]}"}}' if answer.key else str(row["reference"])
    if answer.form is TaskForm.SPAN:
        return json.dumps({"start_time": row["span_start_s"], "end_time": row["span_end_s"]})
    return "{}"


def scored_clip(folder: Path) -> Path:
    """A folder of `score` with one question about six seconds of a video, which lies in `videos`."""
    put_video(folder / "videos" / "v1.mp4")
    request = {"qID": "q1", "videoID": "v1", "start_time": 2, "end_time": 8, "procedure_type": "p", "question": "Clip?"}
    given = {
        "requests": request,
        "references": {"qID": "q1", "primary": "1a", "format": "binary", "answer": "yes"},
        "responses": {"qID": "q1", "content": "I think yes", "latency": 1.0},
    }
    for name, row in given.items():
        put_json(folder / f"{name}.json", [row])
    scored = score(*(folder / f"{name}.json" for name in given), model="chatty", replicates=0)
    scored.to_dir(folder / "scored")
    return folder / "scored"
