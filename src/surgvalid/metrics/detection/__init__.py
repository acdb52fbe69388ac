"""Detection: boxes and masks of objects in images, with the semantics of the COCO evaluation.

`cases` says what goes in, `coco_records` reads COCO dictionaries, `matching` pairs detections with references
once, and the metrics are listed in `surgvalid.metrics.METRICS`.
"""

__all__ = ["average_precision", "cases", "counts", "masks", "matching"]
