"""What machines that watch over the service ask: whether it is well, and figures in the text format of Prometheus."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from surgvalid.host import places
from surgvalid.host.acting import now
from surgvalid.host.acts.uploads import free_bytes
from surgvalid.host.backups import last_backup
from surgvalid.host.runs.models import Job, JobState, LogEntry, LogHead, Mail, Submission

Sample = tuple[str, dict[str, str], float]


@never_cache
def health(_: HttpRequest) -> HttpResponse:
    """200 where the service can do its work, 503 with a word for each reason where it cannot; no secret in it."""
    problems = list(_unwell())
    return JsonResponse({"well": not problems, "problems": problems}, status=503 if problems else 200)


def _unwell() -> Iterator[str]:
    if not os.access(places.store(), os.W_OK):
        yield "store"
    try:
        head, last = LogHead.objects.first(), LogEntry.objects.order_by("-number").first()
        if (head.digest if head else None) != (last.digest if last else None):
            yield "log"
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            yield "migrations"
    except DatabaseError:
        yield "database"


@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus, for whoever shows the token of the setting; without one there is no such page."""
    shown = getattr(request, "bearer", "")
    if not settings.METRICS_TOKEN or not hmac.compare_digest(shown.encode(), settings.METRICS_TOKEN.encode()):
        raise Http404
    lines, described = [], set()
    for name, labels, value in _samples():
        if name not in described:
            described.add(name)
            lines.append(f"# TYPE surgvalid_{name} gauge")
        text = ",".join(f'{label}="{one}"' for label, one in labels.items())
        lines.append(f"surgvalid_{name}{{{text}}} {value:g}" if text else f"surgvalid_{name} {value:g}")
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")


def _samples() -> Iterator[Sample]:
    at = now()
    for row in Job.objects.order_by().values("kind", "state").annotate(count=Count("pk")):
        yield "jobs", {"kind": row["kind"], "state": row["state"]}, row["count"]
    waiting = Job.objects.filter(state=JobState.WAITING).order_by("made_at").first()
    yield "job_oldest_waiting_seconds", {}, (at - waiting.made_at).total_seconds() if waiting else 0.0
    yield "leases_lost", {}, Job.objects.filter(state=JobState.CLAIMED, lease_until__lte=at).count()
    for row in Submission.objects.order_by().values("phase", "stage").annotate(count=Count("pk")):
        yield "submissions", {"phase": row["phase"], "stage": row["stage"]}, row["count"]
    yield "store_free_bytes", {}, free_bytes()
    yield "mails_waiting", {}, Mail.objects.count()
    made = last_backup()
    yield "backup_age_seconds", {}, float("inf") if made is None else (at - made).total_seconds()
