"""A report loads what its own sections and charts need, not the house."""

import json
import subprocess
import sys
from pathlib import Path

from surgvalid import evaluate

LIMIT = 200
HEAVY = ("scipy.stats", "torch", "django")
CODE = f"""
import json, sys
from surgvalid import make_report
make_report(sys.argv[1]).to_html(sys.argv[2])
ours = sorted(name for name in sys.modules if name.startswith("surgvalid."))
print(json.dumps([ours, [name for name in {HEAVY!r} if name in sys.modules]]))
"""


def two_detectors(folder: Path) -> None:
    """What `evaluate detection` writes of two models on six videos."""
    videos = [f"v{number}" for number in range(6)]
    images = [
        {"id": 2 * at + half, "width": 100, "height": 100, "file_name": f"{video}_{half}.png", "video": video}
        for at, video in enumerate(videos)
        for half in (0, 1)
    ]
    objects = [
        {"id": image["id"] + 1, "image_id": image["id"], "category_id": 1, "bbox": [10, 10, 30, 30], "area": 900}
        for image in images
    ]
    references = {"images": images, "categories": [{"id": 1, "name": "clip"}], "annotations": objects}
    (folder / "references.json").write_text(json.dumps(references))
    for model, step in (("steady", 3), ("moody", 4)):
        boxes = [
            {
                "image_id": image["id"],
                "category_id": 1,
                "bbox": [10 + step * (image["id"] % 5), 10, 30, 30],
                "score": 0.9 - 0.01 * image["id"],
            }
            for image in images
        ]
        (folder / f"{model}.json").write_text(json.dumps(boxes))
        sides = (folder / f"{model}.json", folder / "references.json")
        evaluate("detection", *sides, model=model, metrics=["coco_ap50"], video_column="video").to_dir(
            folder / "results" / model
        )


def test_a_report_on_two_detectors_loads_fewer_than_200_modules_and_nothing_heavy(tmp_path: Path) -> None:
    two_detectors(tmp_path)
    places = [str(tmp_path / "results"), str(tmp_path / "report.html")]
    run = subprocess.run([sys.executable, "-c", CODE, *places], capture_output=True, text=True, check=True)
    ours, heavy = json.loads(run.stdout)
    assert len(ours) < LIMIT, "\n".join(ours)
    assert not heavy
