"""Sixty still images with boxes, known by heart, as six annotation tools export them; no tool tells an identity."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from data_set_files import put_png

CLASSES = ("Clip", "Gallstone", "Needle", "Specimen Bag", "Sponge")
Box = tuple[str, float, float, float, float]
"""Class, then left, top, width and height in pixels."""
Scene = dict[str, tuple[int, int, list[Box]]]
"""By the name of an image without its ending: width, height, boxes."""


def scene(count: int = 60, seed: int = 7) -> Scene:
    """Images of two sizes whose names have no number at their end, of which some show nothing."""
    draw, images = np.random.default_rng(seed), Scene()
    for number in range(count):
        width, height = ((640, 360), (800, 600))[number % 2]
        boxes = []
        for label in draw.choice(CLASSES, size=int(draw.integers(0, 4)), replace=True).tolist():
            wide, high = (int(side) for side in draw.integers(20, 120, 2))
            x, y = int(draw.integers(0, width - wide)), int(draw.integers(0, height - high))
            boxes.append((label, x, y, wide, high))
        images[f"p{number // 3:02}-{'abc'[number % 3]}"] = width, height, boxes
    return images


def film(seconds: int = 5) -> dict[str, tuple[int, int, list[tuple[str, int, int, int, int, int]]]]:
    """Frames of one video, a second each: four objects that move, come and go; each box with its number."""
    seen = {1: ("Specimen Bag", 0, 5), 2: ("Sponge", 1, 4), 3: ("Clip", 2, 5), 4: ("Clip", 0, 2)}
    return {
        f"{frame + 1:06}": (640, 360, [
            (label, 100 * track + 5 * frame, 30 * track + 7 * frame, 40 + track, 30 + 2 * track, track)
            for track, (label, first, end) in seen.items() if first <= frame < end
        ])
        for frame in range(seconds)
    }  # fmt: skip


def put_images(images: Mapping[str, tuple[int, int, object]], folder: Path) -> None:
    """The images themselves, without anything on them."""
    for name, (width, height, _) in images.items():
        put_png(folder / f"{name}.png", [bytes(width)] * height)


def yolo(images: Scene, folder: Path) -> Path:
    put_images(images, folder / "images")
    (folder / "labels").mkdir(parents=True)
    (folder / "classes.txt").write_text("\n".join(CLASSES))
    for name, (width, height, boxes) in images.items():
        lines = [
            f"{CLASSES.index(label)} {(x + w / 2) / width!r} {(y + h / 2) / height!r} {w / width!r} {h / height!r}"
            for label, x, y, w, h in boxes
        ]
        (folder / "labels" / f"{name}.txt").write_text("\n".join(lines))
    return folder


def coco(images: Scene, folder: Path, classes: tuple[str, ...] = CLASSES) -> Path:
    folder.mkdir()
    listed = [
        {"id": n, "file_name": f"{name}.png", "width": width, "height": height}
        for n, (name, (width, height, _)) in enumerate(images.items(), 1)
    ]
    drawn = [(n, box) for n, (_, _, boxes) in enumerate(images.values(), 1) for box in boxes]
    document = {
        "images": listed,
        "categories": [{"id": n, "name": name} for n, name in enumerate(classes, 1)],
        "annotations": [
            {"id": n, "image_id": image, "category_id": classes.index(label) + 1, "bbox": [*sides], "iscrowd": 0}
            for n, (image, (label, *sides)) in enumerate(drawn, 1)
        ],
    }
    (folder / "instances.json").write_text(json.dumps(document))
    return folder / "instances.json"


def labelme(images: Scene, folder: Path) -> Path:
    folder.mkdir()
    for name, (width, height, boxes) in images.items():
        shapes = [
            {"label": label, "points": [[x, y], [x + w, y + h]], "group_id": None, "shape_type": "rectangle"}
            for label, x, y, w, h in boxes
        ]
        document = {"version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": f"{name}.png", "imageData": None}
        (folder / f"{name}.json").write_text(json.dumps({**document, "imageHeight": height, "imageWidth": width}))
    return folder


def voc(images: Scene, folder: Path) -> Path:
    """As tools write it that tell no size: it is read from the images beside."""
    put_images(images, folder)
    for name, (_, _, boxes) in images.items():
        objects = "".join(
            f"<object><name>{label}</name><bndbox><xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x + w}</xmax>"
            f"<ymax>{y + h}</ymax></bndbox></object>"
            for label, x, y, w, h in boxes
        )
        (folder / f"{name}.xml").write_text(f"<annotation><filename>{name}.png</filename>{objects}</annotation>")
    return folder


def cvat(images: Scene, folder: Path) -> Path:
    folder.mkdir()
    lines = ["<annotations><version>1.1</version>"]
    for number, (name, (width, height, boxes)) in enumerate(images.items()):
        lines.append(f'<image id="{number}" name={quoteattr(name + ".png")} width="{width}" height="{height}">')
        lines += [
            f'<box label="{label}" source="manual" occluded="0" xtl="{x}" ytl="{y}" xbr="{x + w}" ybr="{y + h}" '
            'z_order="0"></box>'
            for label, x, y, w, h in boxes
        ]
        lines.append("</image>")
    (folder / "annotations.xml").write_text("\n".join([*lines, "</annotations>"]))
    return folder / "annotations.xml"


def label_studio(images: Scene, folder: Path) -> Path:
    folder.mkdir()
    tasks = []
    for number, (name, (width, height, boxes)) in enumerate(images.items(), 1):
        results = [
            {
                "id": f"r{number}-{place}",
                "type": "rectanglelabels",
                "original_width": width,
                "original_height": height,
                "value": {
                    "x": 100 * x / width,
                    "y": 100 * y / height,
                    "width": 100 * w / width,
                    "height": 100 * h / height,
                    "rotation": 0,
                    "rectanglelabels": [label],
                },
            }
            for place, (label, x, y, w, h) in enumerate(boxes)
        ]
        address = f"/data/upload/1/{number:08x}-{name}.png"
        tasks.append({"id": number, "data": {"image": address}, "annotations": [{"id": number, "result": results}]})
    (folder / "export.json").write_text(json.dumps(tasks))
    return folder / "export.json"


def kitti(images: Scene, folder: Path) -> Path:
    put_images(images, folder / "image_2")
    (folder / "label_2").mkdir()
    for name, (_, _, boxes) in images.items():
        rows = [
            f"{label.replace(' ', '_')} 0.00 0 -10 {x}.00 {y}.00 {x + w}.00 {y + h}.00 -1 -1 -1 -1000 -1000 -1000 -10"
            for label, x, y, w, h in boxes
        ]
        (folder / "label_2" / f"{name}.txt").write_text("\n".join(rows))
    return folder


def open_images(images: Scene, folder: Path) -> Path:
    put_images(images, folder / "images")
    lines = ["ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf"]
    for name, (width, height, boxes) in images.items():
        lines += [
            f"{name},xclick,/m/{CLASSES.index(label)},1,{x / width!r},{(x + w) / width!r},{y / height!r},"
            f"{(y + h) / height!r},0,0,0"
            for label, x, y, w, h in boxes
        ]
    (folder / "boxes.csv").write_text("\n".join(lines))
    names = "\n".join(f"/m/{number},{name}" for number, name in enumerate(CLASSES))
    (folder / "class-descriptions.csv").write_text(names)
    return folder / "boxes.csv"


def datumaro(images: Scene, folder: Path) -> Path:
    (folder / "annotations").mkdir(parents=True)
    items = [
        {
            "id": name,
            "image": {"path": f"{name}.png", "size": [height, width]},
            "annotations": [
                {"id": place, "type": "bbox", "label_id": CLASSES.index(label), "bbox": [x, y, w, h], "attributes": {}}
                for place, (label, x, y, w, h) in enumerate(boxes)
            ],
        }
        for name, (width, height, boxes) in images.items()
    ]
    labels = {"label": {"labels": [{"name": name} for name in CLASSES]}}
    (folder / "annotations" / "default.json").write_text(json.dumps({"categories": labels, "items": items}))
    return folder


def label_studio_csv(images: Scene, folder: Path) -> Path:
    """As the tool's own CSV: the values of the smaller JSON in the cells."""
    tasks = json.loads(label_studio(images, folder).read_text())
    lines = ["annotation_id,annotator,id,image,label"]
    for task in tasks:
        [annotation] = task["annotations"]
        sizes = ("original_width", "original_height")
        values = [{**one["value"], **{size: one[size] for size in sizes}} for one in annotation["result"]]
        cell = json.dumps(values).replace('"', '""') if values else ""
        lines.append(f'{task["id"]},1,{task["id"]},{task["data"]["image"]},"{cell}"')
    (folder / "export.csv").write_text("\n".join(lines))
    return folder / "export.csv"


MORE_FORMATS: dict[str, Callable[[Scene, Path], Path]] = {
    "kitti": kitti, "open_images": open_images, "datumaro": datumaro, "label_studio_csv": label_studio_csv,
}  # fmt: skip
FORMATS: dict[str, Callable[[Scene, Path], Path]] = {
    "yolo": yolo, "coco": coco, "labelme": labelme, "voc": voc, "cvat": cvat, "label_studio": label_studio,
}  # fmt: skip
