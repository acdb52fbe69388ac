#!/bin/sh
# Installs what the tests of sandboxes and reports use from the distribution's archive. Safe to run again.
# Where it cannot, it says so and ends well: the tests that need these programs are then skipped, with the reason.
set -u

say() { echo "install-system-packages: $*" >&2; }

missing=""
need() { # program package
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need podman podman
need runc runc
need bwrap bubblewrap
need busybox busybox-static
need dockerd docker.io
need setpriv util-linux
need pg_virtualenv postgresql
need chromium chromium
need pdftotext poppler-utils
fc-list 2>/dev/null | grep -qi liberation || missing="$missing fonts-liberation"  # what charts are drawn in

if [ -z "$missing" ]; then
    say "everything is here already"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    say "this system has no apt-get; install these yourself, or their tests are skipped:$missing"
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    say "not root; run 'sudo $0' to install these, or their tests are skipped:$missing"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # one word per package
if apt-get -o DPkg::Lock::Timeout=300 update -qq >&2 && apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing >&2; then
    say "installed:$missing"
else
    say "could not install these, so their tests are skipped:$missing"
fi
exit 0
