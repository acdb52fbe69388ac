"""Simulated procedures: scenes with phases, objects and artefacts, their truth, videos, annotators and models."""

from surgeval.simulation.annotators import Annotation, BoxAnnotator, CrowdWorker, annotate, screen_presence
from surgeval.simulation.artefacts import CHARACTERISTICS
from surgeval.simulation.catalogue import PROCEDURE_TYPES
from surgeval.simulation.centers import CENTERS
from surgeval.simulation.contact_sheet import contact_sheet
from surgeval.simulation.detectors import Detector, detect
from surgeval.simulation.film import write_film
from surgeval.simulation.models import Answers, SimulatedModel, answer, conditions_of, probabilities
from surgeval.simulation.renderer import Renderer
from surgeval.simulation.scene import Scene
from surgeval.simulation.simulate import Simulation, simulate
from surgeval.simulation.stage import draw_scene, draw_scenes
from surgeval.simulation.truth import true_procedure

__all__ = [
    "CENTERS",
    "CHARACTERISTICS",
    "PROCEDURE_TYPES",
    "Annotation",
    "Answers",
    "BoxAnnotator",
    "CrowdWorker",
    "Detector",
    "Renderer",
    "Scene",
    "SimulatedModel",
    "Simulation",
    "annotate",
    "answer",
    "artefacts",
    "centers",
    "conditions_of",
    "contact_sheet",
    "detect",
    "draw_scene",
    "draw_scenes",
    "film",
    "instance_maps",
    "models",
    "probabilities",
    "renderer",
    "scene",
    "screen_presence",
    "simulate",
    "timelines",
    "true_procedure",
    "workers",
    "write_film",
]
