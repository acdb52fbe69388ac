"""The service as a WSGI application, for `surgvalid host serve` and for any other server."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "surgvalid.host.settings")
application = get_wsgi_application()
