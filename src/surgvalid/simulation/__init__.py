"""Simulated procedures: scenes with phases, objects and artefacts, their truth, videos, annotators and models."""

from surgvalid.simulation.annotators import (
    Annotation,
    BoxAnnotator,
    CrowdWorker,
    Detector,
    annotate,
    detect,
    screen_presence,
)
from surgvalid.simulation.artefacts import CHARACTERISTICS
from surgvalid.simulation.centers import CENTERS
from surgvalid.simulation.models import SimulatedAnswers, SimulatedModel, answer, conditions_of, probabilities
from surgvalid.simulation.procedure_types import PROCEDURE_TYPES
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene, draw_scene, draw_scenes
from surgvalid.simulation.simulate import Simulation, simulate, write_clip
from surgvalid.simulation.truth import true_procedure

__all__ = [
    "CENTERS",
    "CHARACTERISTICS",
    "PROCEDURE_TYPES",
    "Annotation",
    "BoxAnnotator",
    "CrowdWorker",
    "Detector",
    "Renderer",
    "Scene",
    "SimulatedAnswers",
    "SimulatedModel",
    "Simulation",
    "annotate",
    "answer",
    "artefacts",
    "centers",
    "conditions_of",
    "detect",
    "draw_scene",
    "draw_scenes",
    "models",
    "probabilities",
    "renderer",
    "scene",
    "screen_presence",
    "simulate",
    "timelines",
    "true_procedure",
    "write_clip",
]
