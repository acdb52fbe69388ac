"""What annotation tools write and read: one file per tool; `read_annotations` finds them by name or content."""

__all__ = ["coco", "cvat_review", "label_studio_review", "yolo"]
