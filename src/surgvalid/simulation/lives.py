"""The life of every foreign object: when it comes, where it lies, who moves it, what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, pi

import numpy as np

from surgvalid.schema.procedures.tracks import AttributeChange, Detail, Event, EventKind
from surgvalid.simulation.procedure_types import SPECIMEN_SIZES, Ending, ObjectRule, ProcedureType, TimedPhase
from surgvalid.simulation.timelines import Draws, Path, Stretch

PORTS = ("left port", "right port", "upper port")
"""Where each hand's instruments come in."""
_GATES = ((-1.15, 0.4), (1.15, 0.4), (1.15, 0.1))
"""Where what a hand carries comes into the image and leaves it, from the place where it lies."""
CLOSING_S = 0.4
"""How long an applier stays at its clip."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An instrument holds the object."""

    stretch: Stretch
    slot: int
    tool: str


@dataclass(frozen=True, slots=True, eq=False)
class Life:
    """One object."""

    instance: str
    class_name: str
    look: str
    """What variant to paint: the specimen's organ, the clip's colour, ..."""
    size: tuple[float, float]
    seed: int
    born_s: float
    gone_s: float
    """From then on it cannot be seen: out of the body, or in a bag."""
    path: Path
    """Place in the situs (x, y) and angle."""
    holds: tuple[Hold, ...]
    hidden: tuple[Stretch, ...]
    """Wholly covered by tissue."""
    covered: tuple[Stretch, ...]
    """Covered in part."""
    events: tuple[Event, ...]
    """What happened to it, apart from what the view shows."""
    attributes: Mapping[str, str]
    changes: tuple[AttributeChange, ...]

    @property
    def actions(self) -> tuple[Stretch, ...]:
        """When somebody handles it, so the camera looks there."""
        return tuple(hold.stretch for hold in self.holds)


class Hands:
    """What each hand holds when: never two things at once."""

    def __init__(self, pace: float) -> None:
        self.busy: list[list[Stretch]] = [[] for _ in PORTS]
        """When each holds something."""
        self.rest_s = 0.6 + 0.5 * pace
        """How long a hand is free, at least, between two things."""

    def first_free(self, preferred: int, wanted_s: float, length_s: float) -> tuple[int, float]:
        """The hand that is free first for so long, from the wanted time on, and when; of several, the preferred."""
        ends = (stretch.end_s + self.rest_s for busy in self.busy for stretch in busy)
        hands = preferred, *(other for other in range(len(PORTS)) if other != preferred)
        starts = (wanted_s, *sorted(end_s for end_s in ends if end_s > wanted_s))
        return next((h, s) for s in starts for h in hands if self._is_free(h, Stretch(s, s + length_s)))

    def _is_free(self, hand: int, wanted: Stretch) -> bool:
        rest_s = self.rest_s
        return all(wanted.end_s + rest_s <= s or e + rest_s <= wanted.start_s for s, e in self.busy[hand])

    def free_until(self, hand: int, time_s: float) -> float:
        """Until when a hand may go on with what it holds."""
        return min((start_s for start_s, _ in self.busy[hand] if start_s >= time_s), default=inf) - self.rest_s


class LifeWriter:
    """Writes the lives of all objects of one procedure."""

    def __init__(
        self,
        kind: ProcedureType,
        phases: Sequence[TimedPhase],
        duration_s: int,
        rng: Draws,
        pace: float,
    ) -> None:
        self.kind, self.duration_s, self.rng, self.pace = kind, duration_s, rng, pace
        self.phases = {phase.model.name: phase for phase in phases}
        self.counts: dict[str, int] = {}
        self.bags: list[Life] = []
        self.hands = Hands(pace)

    def lives(self) -> tuple[Life, ...]:
        """All objects, in the order in which they come."""
        rules = sorted(self.kind.objects, key=lambda rule: rule.class_name != "Specimen Bag")
        lives = [life for rule in rules for life in self._of_rule(rule)]
        return tuple(sorted(lives, key=lambda life: (life.born_s, life.instance)))

    def _of_rule(self, rule: ObjectRule) -> Iterable[Life]:
        happens = self.rng.random() < rule.chance
        if not happens or rule.phase not in self.phases or rule.until not in self.phases:
            return
        phase = self.phases[rule.phase]
        count = int(self.rng.integers(rule.count[0], rule.count[1] + 1))
        late = rule.class_name == "Specimen"
        low, high = (0.82, 0.92) if late else (0.05, 0.7)
        starts = np.sort(self.rng.uniform(low, high, count)) * phase.length_s + phase.start_s
        for position, wanted_s in enumerate(starts.tolist()):
            hand, start_s = self._brought(rule, wanted_s)
            if start_s + 7 * self.pace + 3 > self.duration_s:
                continue
            life = _Draft(self, rule, position, start_s, hand).finished()
            if rule.class_name == "Specimen Bag":
                self.bags.append(life)
            yield life

    def _brought(self, rule: ObjectRule, wanted_s: float) -> tuple[int, float]:
        """Which hand brings an object, and when: as soon as one is free."""
        preferred = int(self.rng.integers(0, 2))
        if rule.cut_free:
            return preferred, wanted_s
        if rule.class_name != "Clip":
            return self.hands.first_free(preferred, wanted_s, 7.0 * self.pace)
        before_s = min(3 * self.pace, wanted_s)
        hand, start_s = self.hands.first_free(preferred, wanted_s - before_s, before_s + CLOSING_S)
        return hand, start_s + before_s

    def number(self, class_name: str) -> str:
        """An identifier that is new within the procedure."""
        self.counts[class_name] = self.counts.get(class_name, 0) + 1
        return f"{class_name.lower().replace(' ', '_')}_{self.counts[class_name]}"


class _Draft:
    """A life while it is being written."""

    def __init__(self, writer: LifeWriter, rule: ObjectRule, position: int, start_s: float, hand: int) -> None:
        self.writer, self.rule, self.rng, self.pace = writer, rule, writer.rng, writer.pace
        self.born_s = start_s
        self.now_s = start_s
        self.gone_s = float(writer.duration_s)
        self.instance = writer.number(rule.class_name)
        self.colour = rule.colours[int(self.rng.integers(len(rule.colours)))] if rule.colours else ""
        self.slot = hand
        self.tool = rule.tool
        self.structure = rule.structures[int(self.rng.integers(len(rule.structures)))] if rule.structures else ""
        self.keys: list[tuple[float, tuple[float, float, float]]] = []
        self.holds: list[Hold] = []
        self.rests: list[Stretch] = []
        self.events: list[Event] = []
        self.changes: list[AttributeChange] = []
        self.place = rule.place
        self.spot = self._spot(self.place, position)
        self.angle = pi / 2 if rule.class_name == "Clip" else self.rng.uniform(-pi / 3, pi / 3)

    def finished(self) -> Life:
        """The whole life."""
        self._arrive()
        for _ in range(int(self.rng.integers(self.rule.moves[0], self.rule.moves[1] + 1))):
            self._move_on()
        if self.rule.class_name == "Needle":
            self._stitch()
        self._end()
        self.events.sort(key=lambda event: event.second)
        hidden, covered = self._covers()
        return Life(
            self.instance,
            self.rule.class_name,
            self._look(),
            self._size(),
            int(self.rng.integers(1 << 30)),
            self.born_s,
            self.gone_s,
            Path.through(self.keys),
            tuple(self.holds),
            hidden,
            covered,
            tuple(self.events),
            self._attributes(),
            self._soaking(),
        )

    # --- steps ---------------------------------------------------------------------------------

    def _arrive(self) -> None:
        if self.rule.cut_free:
            self._key(self.born_s, self.spot)
            return
        if self.rule.class_name == "Clip":
            self._key(self.born_s, self.spot)
            start_s = max(self.born_s - 3 * self.pace, 0.0)
            self._hold(start_s, self.born_s + CLOSING_S)
            self._tell(EventKind.PLACED, self.born_s, **self._where())
            return
        self._tell(EventKind.INSERTED, self.born_s, **{Detail.TROCAR: PORTS[self.slot]})
        self._key(self.born_s, self._gate())
        self._carry(self.spot, 7.0)
        if self.rule.class_name != "Needle":
            self._tell(EventKind.PLACED, self.now_s, **self._where())

    def _move_on(self) -> None:
        """Taken up and put where the work is now, if there is time for it before the end."""
        start_s = self.now_s + self.rng.gamma(2.0, 90.0) * self.pace + 2
        self.slot, start_s = self.writer.hands.first_free(self.slot, start_s, 5.0 * self.pace)
        if start_s + 12 * self.pace > self._last_chance_s():
            return
        self.rests.append(Stretch(self.now_s, start_s))
        self._tell(EventKind.GRASPED, start_s, **{Detail.INSTRUMENT: self.tool})
        self._key(start_s, self.spot)
        self.now_s = start_s
        self.angle += self.rng.normal(0, 0.5)
        self.place = self._working_site(start_s)
        self._carry(self._spot(self.place, 0), 5.0)
        self._tell(EventKind.PLACED, self.now_s, **self._where())

    def _stitch(self) -> None:
        """A needle is led through tissue again and again, always in the needle driver."""
        begin_s = self.now_s
        free_s = self.writer.hands.free_until(self.slot, begin_s)
        end_s = min(begin_s + self.rng.uniform(40, 150) * self.pace, self._last_chance_s() - 2, free_s)
        for time_s in np.arange(begin_s + 1.5, end_s, 1.5).tolist():
            self.angle += self.rng.normal(0.5, 0.3)
            offset = self.rng.normal(0, 0.05, 2)
            self._key(time_s, (self.spot[0] + offset[0], self.spot[1] + offset[1]))
            self.now_s = time_s
        if self.now_s > begin_s:
            self._hold(begin_s, self.now_s)

    def _end(self) -> None:
        if self.rule.ending is Ending.STAYS:
            phase = self.writer.phases[self.rule.until]
            start_s = max(phase.start_s, self.now_s + 2)
            declared_s = min(start_s + 0.5 * max(phase.end_s - start_s, 0), self.writer.duration_s - 1)
            self.rests.append(Stretch(self.now_s, self.gone_s))
            self._tell(EventKind.LEFT_IN_SITU, declared_s, **self._where())
            return
        if self.rng.random() < self.rule.forgotten:
            self.rests.append(Stretch(self.now_s, self.gone_s))
            return
        self._leave()

    def _leave(self) -> None:
        wanted_s = max(self._last_chance_s() - 8 * self.pace, self.now_s + 0.5)
        hand, start_s = self.writer.hands.first_free(self.slot, wanted_s, 6.0 * self.pace)
        if start_s + 6.0 * self.pace > self.writer.duration_s - 0.5:  # nobody has a hand free: it stays
            self.rests.append(Stretch(self.now_s, self.gone_s))
            return
        self.slot = hand
        self.rests.append(Stretch(self.now_s, start_s))
        self._tell(EventKind.GRASPED, start_s, **{Detail.INSTRUMENT: self.tool})
        self._key(start_s, self.spot)
        self.now_s = start_s
        bag = self._open_bag(start_s) if self.rule.ending is Ending.BAGGED else None
        if bag is not None:
            x, y, _ = bag.path.at(start_s + 4 * self.pace)
            self._carry((float(x), float(y)), 4.0)
            self.gone_s = self.now_s
            self._tell(EventKind.BAGGED, ceil(self.now_s), **{Detail.BAG: bag.instance})
            return
        self._carry(self._gate(), 6.0)
        self.gone_s = self.now_s
        self._tell(EventKind.RETRIEVED, ceil(self.now_s), **{Detail.TROCAR: PORTS[self.slot]})

    # --- pieces --------------------------------------------------------------------------------

    def _spot(self, place: str, position: int) -> tuple[float, float]:
        x, y = self.writer.kind.sites[place]
        if self.rule.class_name == "Clip":
            return x - 0.16 + 0.07 * position + self.rng.normal(0, 0.006), y + self.rng.normal(0, 0.008)
        return x + self.rng.normal(0, 0.16), y + self.rng.normal(0, 0.09)

    def _working_site(self, time_s: float) -> str:
        """Where the surgeon works: a sponge is taken along, all else is put back to its own place."""
        if self.rule.class_name != "Sponge":
            return self.rule.place
        return next((p.model.site for p in self.writer.phases.values() if p.start_s <= time_s < p.end_s), self.place)

    def _gate(self) -> tuple[float, float]:
        """Where the object comes into and goes out of the image."""
        return self.spot[0] + _GATES[self.slot][0], self.spot[1] + _GATES[self.slot][1]

    def _last_chance_s(self) -> float:
        phase = self.writer.phases[self.rule.until]
        fraction = (
            0.97 if self.rule.class_name == "Specimen Bag" else 0.6 if self.rule.ending is Ending.BAGGED else 0.78
        )
        return float(max(phase.start_s + fraction * phase.length_s, self.now_s + 1.0))

    def _open_bag(self, time_s: float) -> Life | None:
        ready = [b for b in self.writer.bags if b.born_s + 7 * self.pace < time_s and time_s + 4 * self.pace < b.gone_s]
        return ready[0] if ready else None

    def _carry(self, goal: tuple[float, float], usual_s: float) -> None:
        end_s = min(self.now_s + usual_s * self.pace, self.writer.duration_s - 0.5)
        self._hold(self.now_s, end_s)
        self.spot, self.now_s = goal, end_s
        self._key(end_s, goal)

    def _key(self, time_s: float, spot: tuple[float, float]) -> None:
        self.keys.append((time_s, (spot[0], spot[1], self.angle)))

    def _hold(self, start_s: float, end_s: float) -> None:
        stretch = Stretch(start_s, end_s)
        self.writer.hands.busy[self.slot].append(stretch)
        self.holds.append(Hold(stretch, self.slot, self.tool))

    def _tell(self, kind: EventKind, time_s: float, **details: str) -> None:
        second = min(floor(time_s), self.writer.duration_s - 1)
        self.events.append(Event(kind, second, self.instance, {key: text for key, text in details.items() if text}))

    def _where(self) -> dict[str, str]:
        return {
            Detail.PLACE.value: self.place,
            Detail.STRUCTURE.value: self.structure,
            Detail.INSTRUMENT.value: self.tool,
            Detail.PURPOSE.value: self.rule.purpose.format(structure=self.structure),
        }

    # --- looks ---------------------------------------------------------------------------------

    def _look(self) -> str:
        return self.writer.kind.specimen if self.rule.class_name == "Specimen" else self.colour

    def _size(self) -> tuple[float, float]:
        specimen = self.rule.class_name == "Specimen"
        width, height = SPECIMEN_SIZES[self.writer.kind.specimen] if specimen else self.rule.size
        factor = self.rng.uniform(0.88, 1.12)
        return width * factor, height * factor

    def _attributes(self) -> dict[str, str]:
        return {"colour": self.colour or self.rule.colour}

    def _soaking(self) -> tuple[AttributeChange, ...]:
        """Most sponges turn red-brown some time after they were put down."""
        if self.rule.class_name == "Sponge" and self.rng.random() < 0.7:
            second = floor(self.born_s + 7 * self.pace + self.rng.gamma(2.0, 60.0) * self.pace)
            if second < min(self.gone_s, self.writer.duration_s - 1):
                return (AttributeChange(second, "colour", "red-brown"),)
        return ()

    def _covers(self) -> tuple[tuple[Stretch, ...], tuple[Stretch, ...]]:
        """Stretches of rest in which tissue lies over the object, wholly or in part."""
        kinds: tuple[list[Stretch], list[Stretch]] = ([], [])
        for start_s, end_s in self.rests:
            length_s = end_s - start_s
            for whole, rate in ((0, 0.08), (1, 0.12)):
                for _ in range(int(self.rng.poisson(rate * length_s / 60))):
                    begin_s = self.rng.uniform(start_s, end_s)
                    lasting_s = self.rng.gamma(2.0, 15.0) * self.pace + 1
                    kinds[whole].append(Stretch(begin_s, min(begin_s + lasting_s, end_s)))
        return tuple(kinds[0]), tuple(kinds[1])
