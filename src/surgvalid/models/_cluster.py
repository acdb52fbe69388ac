"""A model on the workers of a Ray cluster: each has it open, and what they say is kept here, where the run is.

There is one worker per GPU of the cluster, or per processor where it has none. Workers must see the files of images
and of the model under the same paths and have surgvalid installed. A worker that dies takes the prompts that it had
with it; they go to a new one, and count as failures of the machine only where that dies of them, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from surgvalid.asking.cluster import ray_cluster
from surgvalid.errors import Misuse
from surgvalid.models._model import Done, Model, ModelTrouble, Outcome, Prompt
from surgvalid.models._open import open_model
from surgvalid.schema.outcomes import Status

AT_ONCE = 16
"""Prompts that a worker is given; so many are lost, and asked again, where it dies."""
ATTEMPTS = 3

_Batch = list[tuple[int, Prompt]]


class _UnderWay(NamedTuple):
    worker: Any
    batch: _Batch
    attempt: int


class ClusterModel:
    """A model that is asked on a cluster; what is said about it is said by the one that is opened here.

    Args:
        model: As it was opened here; it is asked nothing.
        spec: By which workers open it.
        options: Of how they open it.
    """

    def __init__(self, model: Model, spec: str, options: Mapping[str, Any]) -> None:
        self.model, self.spec, self.options = model, spec, dict(options)
        self.name, self.kind, self.revision, self.can = model.name, model.kind, model.revision, model.can
        self.host, self.price, self.stored = model.host, model.price, model.stored
        self.parameters: Mapping[str, Any] = model.parameters

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask the prompts, so many at once by each worker.

        Raises:
            Misuse: A worker cannot open the model.
        """
        with ray_cluster() as ray:
            workers: list[Any] = []
            try:
                self._ask(ray, workers, _batches(prompts), done)
            finally:
                for worker in workers:  # each holds a GPU or a processor until it is gone
                    ray.kill(worker)

    def _ask(self, ray: Any, workers: list[Any], batches: Iterator[_Batch], done: Done) -> None:
        under_way = {}
        for batch in itertools.islice(batches, _places(ray)):
            one = _UnderWay(self._worker(ray, workers), batch, 1)
            under_way[one.worker.asked.remote(_prompts(batch))] = one
        while under_way:
            (ready,), _ = ray.wait(list(under_way), num_returns=1)
            one = self._heard(ray, workers, ready, under_way.pop(ready), done)
            batch = one.batch or next(batches, [])
            if batch:
                under_way[one.worker.asked.remote(_prompts(batch))] = one._replace(batch=batch)

    def _heard(self, ray: Any, workers: list[Any], ready: Any, one: _UnderWay, done: Done) -> _UnderWay:
        """Hand over what a worker said; the worker to go on with, and what it has to ask again."""
        worker = one.worker
        try:
            outcomes = ray.get(ready)
        except ray.exceptions.RayActorError as error:
            worker = self._worker(ray, workers)
            if one.attempt < ATTEMPTS:
                return _UnderWay(worker, one.batch, one.attempt + 1)
            reason = f"{ATTEMPTS} workers died of it: {str(error).splitlines()[0]}"
            outcomes = [Outcome(Status.INFRASTRUCTURE, trouble=ModelTrouble.TRANSIENT, reason=reason)] * len(one.batch)
        except ray.exceptions.RayTaskError as error:
            reason = f"the worker failed: {str(error.cause or error).splitlines()[-1]}"
            outcomes = [Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=reason)] * len(one.batch)
        for (position, _), outcome in zip(one.batch, outcomes, strict=True):
            done(position, outcome)
        return _UnderWay(worker, [], 1)

    def _worker(self, ray: Any, workers: list[Any]) -> Any:
        """A new worker that has the model open."""
        needs = {"num_gpus": 1} if ray.cluster_resources().get("GPU", 0) >= 1 else {"num_cpus": 1}
        worker = ray.remote(**needs)(Worker).remote(self.spec, self.options)
        workers.append(worker)
        try:
            ray.get(worker.is_open.remote())
        except ray.exceptions.RayError as error:
            raise Misuse(f"{self.name} cannot be opened on a worker: {str(error).splitlines()[-1]}") from None
        return worker

    def close(self) -> None:
        """Close the model that was opened here."""
        self.model.close()


class Worker:
    """One process of the cluster with the model."""

    def __init__(self, spec: str, options: Mapping[str, Any]) -> None:
        self._model = open_model(spec, **options)

    def is_open(self) -> bool:
        """Whether it came so far."""
        return True

    def asked(self, prompts: Sequence[Prompt]) -> list[Outcome]:
        """What the model says to each."""
        outcomes: dict[int, Outcome] = {}
        self._model.ask(prompts, outcomes.__setitem__)
        return [outcomes[place] for place in range(len(prompts))]


def _places(ray: Any) -> int:
    resources = ray.cluster_resources()
    return max(1, int(resources.get("GPU", 0)) or int(resources.get("CPU", 1)))


def _batches(prompts: Iterable[Prompt]) -> Iterator[_Batch]:
    numbered = enumerate(prompts)
    while batch := list(itertools.islice(numbered, AT_ONCE)):
        yield batch


def _prompts(batch: _Batch) -> list[Prompt]:
    return [prompt for _, prompt in batch]
