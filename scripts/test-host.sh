#!/bin/sh
# Tests of the web service: everything on SQLite, then those marked `database` on a PostgreSQL that is thrown away.
set -eu
OPTIONS="-o addopts= -ra --strict-markers --import-mode=importlib"
"$PYTEST" -m pytest $OPTIONS tests/host "$@"
if command -v pg_virtualenv >/dev/null; then
  export OPTIONS PYTEST
  pg_virtualenv sh -c 'SURGVALID_HOST_DATABASE="postgresql://$PGUSER:$PGPASSWORD@$PGHOST:$PGPORT/postgres" \
    "$PYTEST" -m pytest $OPTIONS -m database tests/host'
else
  echo "PostgreSQL is not installed here: not tested with it" >&2
fi
