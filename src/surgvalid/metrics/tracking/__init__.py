"""Tracking: HOTA, DetA, AssA, MOTA, IDF1 and identity switches, per sequence and combined."""

__all__ = ["sequences"]
