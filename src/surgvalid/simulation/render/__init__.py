"""The painter of bodies in space: triangles to samples, samples to light, light to an image, and what can be seen."""

__all__ = ["export", "lens", "optics", "pairs", "passes", "raster", "relations", "shade", "sight", "world"]
