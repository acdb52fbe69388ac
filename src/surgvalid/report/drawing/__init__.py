"""Images as plain SVG: rows with marks, grids of cells, curves over two axes; drawn once, for page, print and file."""

__all__ = ["curves", "grid", "rows", "scales", "slopes", "svg"]
