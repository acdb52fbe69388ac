"""The FOCUS capability taxonomy: five groups, fifteen leaves, codes 1a to 5c.

Source: design document of the ORena FOCUS challenge (taxonomy) and the value names of its official
toolkit. A question has one primary leaf and any number of secondary ones; rankings and the primary result
score use the group of the primary leaf.
"""

from __future__ import annotations

from enum import StrEnum

from surgvalid.errors import UnknownName


class Capability(StrEnum):
    """One capability; groups and leaves share the enum because files may name either."""

    OBJECT_RECOGNITION = "object_recognition"
    OBJECT_IDENTIFICATION = "object_identification"
    INSTANCE_MATCHING = "instance_matching"
    OBJECT_ATTRIBUTES = "object_attributes"
    SPATIAL_LOCALIZATION_CAMERA = "spatial_localization_camera"
    SPATIAL_LOCALIZATION_SITUS = "spatial_localization_situs"

    TEMPORAL_GROUNDING = "temporal_grounding"
    TEMPORAL_LOCALIZATION = "temporal_localization"
    DURATION_ESTIMATION = "duration_estimation"

    AGGREGATION = "aggregation"
    OBJECT_AGGREGATION = "object_aggregation"
    EVENT_AGGREGATION = "event_aggregation"

    EVENT_UNDERSTANDING = "event_understanding"
    FO_INTERACTION_RECOGNITION = "fo_interaction_recognition"
    FO_USAGE_PURPOSE = "fo_usage_purpose"
    TEMPORAL_ORDERING = "temporal_ordering"

    COMPLEX_REASONING = "complex_reasoning"
    FUNCTIONAL_REASONING = "functional_reasoning"
    CAUSAL_CONSEQUENCE_REASONING = "causal_consequence_reasoning"
    MULTI_STEP_REASONING = "multi_step_reasoning"

    @property
    def code(self) -> str:
        """The short code, such as `2a`; a group's is its digit."""
        return _CODE_OF[self]

    @property
    def group(self) -> Capability:
        """The group this capability belongs to; a group is its own."""
        return _AT_CODE[self.code[0]]

    @property
    def is_group(self) -> bool:
        """Whether this is one of the five groups."""
        return len(self.code) == 1

    @property
    def leaves(self) -> tuple[Capability, ...]:
        """The leaves of this group; empty for a leaf."""
        return tuple(c for c in Capability if self.is_group and c.group is self and not c.is_group)

    @property
    def label(self) -> str:
        """The name in words, for tables and charts."""
        return _LABELS.get(self, self.value.replace("fo_", "FO ").replace("_", " ")).capitalize()

    @classmethod
    def groups(cls) -> tuple[Capability, ...]:
        """The five groups in code order."""
        return tuple(c for c in cls if c.is_group)

    @classmethod
    def named(cls, value: object) -> Capability | None:
        """The capability that `value` names in the official way, or None.

        Accepted are the value, the enum name and the code, in any case, with spaces or hyphens for
        underscores. This is the reading of the official toolkit, character for character.
        """
        text = str(value).strip() if value is not None else ""
        if capability := _AT_CODE.get(text.lower().replace(" ", "")):
            return capability
        key = text.replace("-", "_").replace(" ", "_")
        return _AT_NAME.get(key.upper()) or _AT_VALUE.get(key.lower())

    @classmethod
    def read(cls, value: object) -> Capability:
        """The capability that `value` names, also by the group titles of the challenge document.

        Raises:
            UnknownName: Nothing of that name; the message carries the nearest one.

        Example:
            >>> Capability.read("2A").value, Capability.read("Reasoning").code
            ('temporal_localization', '5')
        """
        capability = cls.named(value) or _ALIASES.get(" ".join(str(value).lower().split()))
        if capability is None:
            raise UnknownName("capability", value, [c.value for c in cls])
        return capability


_CODES = "1 1a 1b 1c 1d 1e 2 2a 2b 3 3a 3b 4 4a 4b 4c 5 5a 5b 5c".split()
_AT_CODE = dict(zip(_CODES, Capability, strict=True))
_CODE_OF = {capability: code for code, capability in _AT_CODE.items()}
_AT_NAME = {capability.name: capability for capability in Capability}
_AT_VALUE = {capability.value: capability for capability in Capability}
_LABELS = {
    Capability.OBJECT_RECOGNITION: "object recognition and instance matching",
    Capability.EVENT_UNDERSTANDING: "event and scene understanding",
    Capability.COMPLEX_REASONING: "complex reasoning",
}
_ALIASES = {
    "object recognition and instance matching": Capability.OBJECT_RECOGNITION,
    "object recognition and identity matching": Capability.OBJECT_RECOGNITION,
    "event and scene understanding": Capability.EVENT_UNDERSTANDING,
    "event and procedural understanding": Capability.EVENT_UNDERSTANDING,
    "reasoning": Capability.COMPLEX_REASONING,
}
