"""Shapes of organs, instruments and foreign objects, as triangles; what they are made of; how they come to lie."""

__all__ = ["materials", "objects", "organs", "settle", "shapes", "tools"]
