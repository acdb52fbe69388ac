"""What machines that watch over a service are told, and what they are not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.test import Client, override_settings

from host_service import Service
from surgvalid.host import backups
from surgvalid.host.runs.models import LogHead

pytestmark = pytest.mark.database


def test_health_says_in_a_word_what_is_wrong(service: Service) -> None:
    (service.home / "store").mkdir(exist_ok=True)
    answer = Client().get("/health")
    assert (answer.status_code, json.loads(answer.content)) == (200, {"well": True, "problems": []})
    LogHead.objects.update(digest="0" * 64)
    (service.home / "store").rename(service.home / "moved")
    answer = Client().get("/health")
    assert (answer.status_code, json.loads(answer.content)["problems"]) == (503, ["store", "log"])


def test_figures_are_for_whoever_has_the_token(service: Service, tmp_path: Path) -> None:
    service.hand_in(service.team("a"))
    assert Client().get("/metrics").status_code == 404
    with override_settings(METRICS_TOKEN="a token"):
        assert Client().get("/metrics").status_code == 404
        assert Client().get("/metrics", headers={"Authorization": "Bearer another"}).status_code == 404
        mine = {"Authorization": "Bearer a token"}
        text = Client().get("/metrics", headers=mine).content.decode()
        assert 'surgvalid_jobs{kind="intake",state="waiting"} 1' in text
        assert 'surgvalid_submissions{phase="pre-evaluation",stage="uploaded"} 1' in text
        assert "surgvalid_backup_age_seconds inf" in text
        backups.back_up(tmp_path / "kept")
        assert "surgvalid_backup_age_seconds inf" not in Client().get("/metrics", headers=mine).content.decode()
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \w+ gauge|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? (inf|[-+.e\d]+)", line), line
