"""Simulated procedures: scenes with phases, objects and artefacts, their truth, videos and models."""

from surgvalid.simulation.artefacts import CHARACTERISTICS
from surgvalid.simulation.centers import CENTERS
from surgvalid.simulation.models import SimulatedAnswers, SimulatedModel, answer, conditions_of, probabilities
from surgvalid.simulation.procedure_types import PROCEDURE_TYPES
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene, draw_scene
from surgvalid.simulation.simulate import Simulation, simulate, write_clip
from surgvalid.simulation.truth import true_procedure

__all__ = [
    "CENTERS",
    "CHARACTERISTICS",
    "PROCEDURE_TYPES",
    "Renderer",
    "Scene",
    "SimulatedAnswers",
    "SimulatedModel",
    "Simulation",
    "answer",
    "artefacts",
    "centers",
    "conditions_of",
    "draw_scene",
    "models",
    "probabilities",
    "renderer",
    "scene",
    "simulate",
    "timelines",
    "true_procedure",
    "write_clip",
]
