"""Shapes of organs, instruments and foreign objects, as triangles."""
