"""The painter: triangles to samples, samples to light, light to an image."""
