"""Segmentation: overlap, outlines, instances and stability of masks, with empty masks ruled explicitly."""

__all__ = ["classes", "instances", "masks", "overlap"]
