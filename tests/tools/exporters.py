"""Everything that the annotation tools on the package index write of one known scene, one folder for each way.

Runs in an environment that has the tools (`make test-tools`) and knows nothing of us: `python exporters.py SCENE OUT`.
SCENE holds the images as PNG and `scene.json`: `stills` (by image its width, height and boxes of label, left, top,
width, height) and `film` (by frame the same, behind each box the number of its track). OUT gets a folder for each
export and `versions.json`; what a tool could not write is told in `refused.json`.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Scene = dict[str, tuple[int, int, list[Any]]]
Made = dict[str, Callable[[Path], object]]
TOOLS = ("datumaro", "label-studio-sdk", "supervision", "globox", "pylabel", "labelme", "labelImg", "pascal-voc-writer")
TOOLS += ("sahi",)
_CONFIG = """<View><Image name="image" value="$image"/><RectangleLabels name="label" toName="image">{labels}
</RectangleLabels></View>"""
_OF_VIDEO = """<View><Video name="video" value="$video"/><VideoRectangle name="box" toName="video"/>
<Labels name="label" toName="video">{labels}</Labels></View>"""


def classes_of(scene: Scene) -> list[str]:
    return sorted({label for _, _, boxes in scene.values() for label, *_ in boxes})


def datumaro(scene: Scene, film: Scene, images: Path) -> Made:
    from datumaro import Bbox, Dataset, DatasetItem, Image, Mask, Polygon
    from numpy import zeros

    classes = classes_of(scene)

    def drawn(kind: str, size: tuple[int, int], place: int, box: Any) -> Any:
        label, x, y, w, h, *track = box
        more: dict[str, Any] = {"label": classes.index(label), "id": track[0] if track else place, "group": place}
        more |= {"attributes": {"track_id": track[0]}} if track else {}
        if kind == "mask":
            pixels = zeros((size[1], size[0]), bool)
            pixels[y : y + h, x : x + w] = True
            return Mask(pixels, **more)
        outline = [x, y, x + w, y, x + w, y + h, x, y + h]
        return Polygon(outline, **more) if kind == "polygon" else Bbox(x, y, w, h, **more)

    def item(name: str, frame: int, kind: str, one: tuple[int, int, list[Any]]) -> DatasetItem:
        width, height, boxes = one
        shapes = [drawn(kind, (width, height), place, box) for place, box in enumerate(boxes, 1)]
        media = Image.from_file(path=str(images / f"{name}.png"), size=(height, width))
        subset = "val" if kind == "halves" and frame % 2 else "train"
        return DatasetItem(name, subset=subset, media=media, annotations=shapes, attributes={"frame": frame})

    def export(form: str, kind: str = "box", of: Scene = scene) -> Callable[[Path], object]:
        def write(folder: Path) -> None:
            items = [item(name, frame, kind, one) for frame, (name, one) in enumerate(of.items())]
            Dataset.from_iterable(items, categories=classes).export(str(folder), form, save_media=True)

        return write

    boxes = (
        "coco", "coco_instances", "cvat", "datumaro", "datumaro_binary", "kitti_detection", "label_me", "open_images",
        "voc", "voc_detection", "yolo", "arrow", "wider_face", "mvtec_detection", "ava", "lfw",
    )  # fmt: skip
    made = {f"datumaro_{form}": export(form) for form in boxes}
    made["datumaro_yolo_ultralytics"] = export("yolo_ultralytics", "halves")
    made |= {f"datumaro_{form}_polygons": export(form, "polygon") for form in ("coco", "datumaro", "label_me")}
    classes_alone = ("voc_segmentation", "kitti_segmentation", "cityscapes", "camvid")
    made |= {f"datumaro_{form}": export(form, "mask") for form in classes_alone}
    masks = ("coco_panoptic", "mots_png", "coco_stuff", "coco_instances")
    made |= {f"datumaro_{form}_film": export(form, "mask", film) for form in masks}
    tracks = ("mot_seq_gt", "cvat", "coco", "datumaro")
    return made | {f"datumaro_{form}_film": export(form, "box", film) for form in tracks}


def label_studio(scene: Scene, film: Scene, images: Path) -> Made:
    from label_studio_sdk.converter import Converter

    labels = "".join(f'<Label value="{name}"/>' for name in classes_of(scene))
    uploads = images / "uploads"
    uploads.mkdir(exist_ok=True)

    def tasks() -> list[dict[str, Any]]:
        made = []
        for number, (name, (width, height, boxes)) in enumerate(scene.items(), 1):
            address = f"/data/upload/1/{number:08x}-{name}.png"
            shutil.copy(images / f"{name}.png", uploads / Path(address).name)
            shares = [
                {"x": 100 * x / width, "y": 100 * y / height, "width": 100 * w / width, "height": 100 * h / height}
                for _, x, y, w, h in boxes
            ]
            results = [
                {
                    "id": f"r{number}-{place}", "type": "rectanglelabels", "from_name": "label", "to_name": "image",
                    "original_width": width, "original_height": height, "image_rotation": 0, "origin": "manual",
                    "value": {**share, "rotation": 0, "rectanglelabels": [boxes[place][0]]},
                }
                for place, share in enumerate(shares)
            ]  # fmt: skip
            annotation = {"id": number, "completed_by": {"email": "anna@example.org"}, "result": results}
            file = {"file_upload": Path(address).name, "data": {"image": address}}
            made.append({"id": number, **file, "annotations": [annotation], "predictions": []})
        return made

    def video() -> list[dict[str, Any]]:
        width, height, _ = next(iter(film.values()))
        tracks: dict[int, tuple[str, list[tuple[int, list[int]]]]] = {}
        for frame, (_, _, boxes) in enumerate(film.values(), 1):
            for label, *sides, track in boxes:
                tracks.setdefault(track, (label, []))[1].append((frame, sides))
        results = []
        for track, (label, seen) in tracks.items():
            sequence = [
                {"frame": frame, "enabled": frame < seen[-1][0], "time": float(frame), "rotation": 0}
                | {"x": 100 * x / width, "y": 100 * y / height, "width": 100 * w / width, "height": 100 * h / height}
                for frame, (x, y, w, h) in seen
            ]
            value = {"framesCount": len(film), "duration": float(len(film)), "labels": [label], "sequence": sequence}
            named = {"id": f"track{track}", "type": "videorectangle", "from_name": "box", "to_name": "video"}
            results.append({**named, "original_width": width, "original_height": height, "value": value})
        annotation = {"id": 1, "completed_by": {"email": "anna@example.org"}, "result": results}
        data = {"video": "/data/upload/1/0123abcd-case_12.mp4"}
        return [{"id": 1, "file_upload": "0123abcd-case_12.mp4", "data": data, "annotations": [annotation]}]

    def export(form: str, of_video: bool = False) -> Callable[[Path], object]:
        def write(folder: Path) -> None:
            source = folder.with_suffix(".source.json")
            source.write_text(json.dumps(video() if of_video else tasks()))
            config = (_OF_VIDEO if of_video else _CONFIG).format(labels=labels)
            converter = Converter(config, project_dir=str(images), upload_dir=str(uploads))
            converter.convert(str(source), str(folder), form, is_dir=False)
            source.unlink()

        return write

    images_of = ("JSON", "JSON_MIN", "CSV", "TSV", "COCO", "VOC", "YOLO", "YOLO_OBB")
    made = {f"label_studio_{form.lower()}": export(form) for form in images_of}
    return made | {
        f"label_studio_{form.lower()}_film": export(form, True) for form in ("JSON", "JSON_MIN", "CSV", "TSV")
    }


def supervision(scene: Scene, _film: Scene, images: Path) -> Made:
    import numpy as np
    import supervision as sv

    classes = classes_of(scene)
    known = {}
    for name, (_, _, boxes) in scene.items():
        corners = np.array([(x, y, x + w, y + h) for _, x, y, w, h in boxes], float).reshape(-1, 4)
        turned = corners[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
        kinds = np.array([classes.index(label) for label, *_ in boxes], int)
        known[str(images / f"{name}.png")] = sv.Detections(corners, class_id=kinds, data={"xyxyxyxy": turned})
    data = sv.DetectionDataset(classes, list(known), known)

    def yolo(folder: Path, **more: Any) -> None:
        data.as_yolo(str(folder / "images"), str(folder / "labels"), str(folder / "data.yaml"), **more)

    return {
        "supervision_coco": lambda f: data.as_coco(str(f / "images"), str(f / "annotations.json")),
        "supervision_voc": lambda f: data.as_pascal_voc(str(f / "images"), str(f / "annotations")),
        "supervision_yolo": yolo,
        "supervision_yolo_obb": lambda f: yolo(f, is_obb=True),
        "supervision_labelme": lambda f: data.as_labelme(str(f / "images"), str(f / "annotations")),
        "supervision_createml": lambda f: data.as_createml(str(f / "images"), str(f / "annotations.json")),
    }


def globox(scene: Scene, _film: Scene, images: Path) -> Made:
    from globox import Annotation, AnnotationSet, BoundingBox

    def annotation(name: str) -> Annotation:
        width, height, boxes = scene[name]
        drawn = [BoundingBox(label=label, xmin=x, ymin=y, xmax=x + w, ymax=y + h) for label, x, y, w, h in boxes]
        return Annotation(f"{name}.png", (width, height), drawn)

    known = AnnotationSet(map(annotation, scene))
    numbers = {name: place for place, name in enumerate(classes_of(scene))}

    def with_images(write: Callable[[Path], object]) -> Callable[[Path], object]:
        def both(folder: Path) -> None:
            folder.mkdir()
            write(folder)
            for name in scene:
                shutil.copy(images / f"{name}.png", folder)

        return both

    def yolo(folder: Path) -> None:
        known.save_yolo_v5(folder, label_to_id=numbers)
        (folder / "classes.txt").write_text("\n".join(numbers))

    ways: Made = {
        "globox_coco": lambda f: known.save_coco(f / "coco.json", auto_ids=True),
        "globox_voc": known.save_pascal_voc,
        "globox_cvat": lambda f: known.save_cvat(f / "annotations.xml"),
        "globox_labelme": known.save_labelme,
        "globox_openimage": lambda f: known.save_openimage(f / "boxes.csv"),
        "globox_via": lambda f: known.save_via_json(f / "via.json", image_folder=images),
        "globox_yolo": yolo,
    }
    return {name: with_images(write) for name, write in ways.items()}


def pylabel(scene: Scene, _film: Scene, images: Path) -> Made:
    from pylabel import importer

    source = images / "for_pylabel.json"
    classes = classes_of(scene)
    listed = [
        {"id": n, "file_name": f"{name}.png", "width": w, "height": h}
        for n, (name, (w, h, _)) in enumerate(scene.items(), 1)
    ]
    drawn = [(n, box) for n, (_, _, boxes) in enumerate(scene.values(), 1) for box in boxes]
    rows = [
        {"id": n, "image_id": image, "category_id": classes.index(label) + 1, "bbox": sides, "iscrowd": 0}
        | {"area": sides[2] * sides[3], "segmentation": []}
        for n, (image, (label, *sides)) in enumerate(drawn, 1)
    ]  # fmt: skip
    kinds = [{"id": n, "name": name, "supercategory": ""} for n, name in enumerate(classes, 1)]
    source.write_text(json.dumps({"images": listed, "annotations": rows, "categories": kinds}))

    def opened() -> Any:
        return importer.ImportCoco(str(source), path_to_images="", name="scene")

    def yolo(folder: Path) -> None:
        (folder / "labels").mkdir(parents=True)
        opened().export.ExportToYoloV5(str(folder / "labels"), "dataset.yaml", copy_images=True, cat_id_index=0)

    def plain(folder: Path, write: Callable[[Any], object]) -> None:
        folder.mkdir()
        write(opened().export)

    return {
        "pylabel_coco": lambda f: plain(f, lambda e: e.ExportToCoco(str(f / "coco.json"))),
        "pylabel_voc": lambda f: plain(f, lambda e: e.ExportToVoc(str(f))),
        "pylabel_yolo": yolo,
    }


def desktop(scene: Scene, _film: Scene, images: Path) -> Made:
    """What labelme, labelImg and pascal-voc-writer save, by the functions that their windows call."""

    def labelme(folder: Path) -> None:
        from labelme._label_file import LabelFile

        for name, (width, height, boxes) in scene.items():
            shapes = [
                {"label": label, "points": [[x, y], [x + w, y + h]], "shape_type": "rectangle"}
                | {"group_id": None, "flags": {}, "description": "", "mask": None}
                for label, x, y, w, h in boxes
            ]
            LabelFile().save(str(folder / f"{name}.json"), shapes, f"{name}.png", height, width)

    def label_img(folder: Path, kind: str) -> None:
        from libs.create_ml_io import CreateMLWriter
        from libs.pascal_voc_io import PascalVocWriter
        from libs.yolo_io import YOLOWriter

        for name, (width, height, boxes) in scene.items():
            size = (height, width, 3)
            if kind == "createml":
                shapes = [
                    {"label": label, "points": [(x, y), (x + w, y), (x + w, y + h), (x, y + h)]}
                    for label, x, y, w, h in boxes
                ]
                CreateMLWriter("in", f"{name}.png", size, shapes, str(folder / "labels.json")).write()
                continue
            writer = (PascalVocWriter if kind == "voc" else YOLOWriter)(
                "in", f"{name}.png" if kind == "voc" else name, size
            )
            for label, x, y, w, h in boxes:
                writer.add_bnd_box(x, y, x + w, y + h, label, 0)
            end = "xml" if kind == "voc" else "txt"
            more = {} if kind == "voc" else {"class_list": classes_of(scene)}
            writer.save(target_file=str(folder / f"{name}.{end}"), **more)

    def voc_writer(folder: Path) -> None:
        from pascal_voc_writer import Writer

        for name, (width, height, boxes) in scene.items():
            writer = Writer(str(folder / f"{name}.png"), width, height)
            for label, x, y, w, h in boxes:
                writer.addObject(label, x, y, x + w, y + h)
            writer.save(str(folder / f"{name}.xml"))

    def sahi(folder: Path) -> None:
        from sahi.utils.coco import Coco, CocoAnnotation, CocoImage
        from sahi.utils.file import save_json

        coco, classes = Coco(), classes_of(scene)
        coco.add_categories_from_coco_category_list([{"id": n, "name": name} for n, name in enumerate(classes)])
        for name, (width, height, boxes) in scene.items():
            image = CocoImage(file_name=f"{name}.png", height=height, width=width)
            for label, *sides in boxes:
                image.add_annotation(CocoAnnotation(bbox=sides, category_id=classes.index(label), category_name=label))
            coco.add_image(image)
        save_json(coco.json, str(folder / "coco.json"))

    def with_images(write: Callable[..., None], *more: str) -> Callable[[Path], None]:
        def both(folder: Path) -> None:
            folder.mkdir()
            for name in scene:
                shutil.copy(images / f"{name}.png", folder)
            write(folder, *more)

        return both

    return {
        "labelme": with_images(labelme),
        **{f"labelimg_{kind}": with_images(label_img, kind) for kind in ("voc", "yolo", "createml")},
        "pascal_voc_writer": with_images(voc_writer),
        "sahi_coco": with_images(sahi),
    }


def main(source: Path, out: Path) -> None:
    known = json.loads((source / "scene.json").read_text())
    refused: dict[str, str] = {}
    for family in (datumaro, label_studio, supervision, globox, pylabel, desktop):
        for name, write in family(known["stills"], known["film"], source).items():
            try:
                write(out / name)
            except Exception as error:  # noqa: BLE001
                refused[name] = f"{type(error).__name__}: {error}"[:200]
                shutil.rmtree(out / name, ignore_errors=True)
    (out / "refused.json").write_text(json.dumps(refused, indent=1))
    (out / "versions.json").write_text(json.dumps({name: version(name) for name in TOOLS}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
