"""The pixels of every object at every whole second, as a COCO file with run-length encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surgeval.metrics.detection.masks import coco_of_mask, mask_of_pixels
from surgeval.schema.tracks import Procedure
from surgeval.simulation.sighting import Silhouette


class MaskFile:
    """Takes silhouettes one by one and writes them as one file."""

    def __init__(self, width_px: int, height_px: int) -> None:
        self.width_px, self.height_px = width_px, height_px
        self.rows: list[tuple[int, str, dict[str, Any]]] = []

    def add(self, silhouette: Silhouette) -> None:
        """Keep the pixels of one object at one second."""
        rect = silhouette.rect
        size = self.height_px, self.width_px
        mask = mask_of_pixels(silhouette.seen, corner=(rect.top, rect.left), size=size)
        row = {"bbox": list(silhouette.box), "area": mask.area, "iscrowd": 0, "segmentation": coco_of_mask(mask)}
        self.rows.append((silhouette.at, silhouette.instance, row))

    def write(self, procedure: Procedure, path: Path) -> None:
        """Write the file: an image per second, an annotation per object in view, `instance` as in the procedure."""
        classes = {track.instance: track.class_name for track in procedure.tracks}
        names = sorted(set(classes.values()))
        size = {"width": self.width_px, "height": self.height_px}
        annotations = [
            {
                "id": number,
                "image_id": second,
                "category_id": names.index(classes[instance]) + 1,
                "instance": instance,
                **row,
            }
            for number, (second, instance, row) in enumerate(self.rows, start=1)
        ]
        document = {
            "info": {"video": procedure.video, "fps": 1},
            "images": [
                {"id": second, "file_name": f"{procedure.video}_{second:06d}.png", **size}
                for second in range(procedure.duration_s)
            ],
            "categories": [{"id": at, "name": name} for at, name in enumerate(names, start=1)],
            "annotations": annotations,
        }
        path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
