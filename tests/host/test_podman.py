"""A container made from the starter pack, pushed, really run by podman, scored, and gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from host_server import Crew, pusher, serving
from host_service import PRE, Service
from python_image import python_archive, reason_not_to_build
from sandbox_engines import reason_not_to_run
from submission_places import containers
from surgvalid.host.client import push_submission
from surgvalid.host.runs.models import Job, Submission
from surgvalid.submissions.starter import new_pack

pytestmark = pytest.mark.podman


def test_a_starter_pack_is_run_and_scored(service: Service, tmp_path: Path) -> None:
    if reason := reason_not_to_run("podman") or reason_not_to_build():
        pytest.skip(reason)
    new_pack(tmp_path / "pack")
    image = python_archive(tmp_path / "image.tar", tmp_path / "pack")
    before = containers("podman")
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        pushed = push_submission(pusher(url, service.team("a")), image, phase=PRE)
        crew.trusted()
        assert crew.inference(engine="podman") == 2
        crew.trusted()
        submission = Submission.objects.get(pk=pushed["submission"])
        assert (submission.stage, submission.answered) == ("scored", 32)
        assert 0 < submission.values["technical"] < 1  # it says yes and 0 to everything
        assert submission.image_digest.startswith("sha256:")
        assert not Job.objects.exclude(state="done").exists()
    assert containers("podman") == before
