"""Zip archives from elsewhere: what is wrong with one, found in its table of contents, before anything is unpacked."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_PACKED_TOO_LITTLE = 1 << 16
"""Below this packed size a large ratio means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What an archive may be."""

    members: int = 200_000
    unpacked_bytes: int = 1 << 40
    ratio: int = 200
    """Unpacked over packed size of one member."""


def archive_problems(members: Sequence[zipfile.ZipInfo], limits: ArchiveLimits) -> list[str]:
    """Every reason not to unpack an archive: members that climb out, are links or encrypted, or explode."""
    problems = []
    if len(members) > limits.members:
        problems.append(f"{len(members):,} members, more than {limits.members:,}")
    total = sum(member.file_size for member in members)
    if total > limits.unpacked_bytes:
        problems.append(f"unpacks to {total:,} bytes; allowed are {limits.unpacked_bytes:,}")
    for member in members[: limits.members]:
        problems += _member_problems(member, limits)
    return problems


def _member_problems(member: zipfile.ZipInfo, limits: ArchiveLimits) -> list[str]:
    name, problems = member.filename, []
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith(("/", "\\")) or ":" in name or "\0" in name:
        problems.append(f"member {name!r} points outside the archive")
    if stat.S_ISLNK(member.external_attr >> 16):
        problems.append(f"member {name!r} is a link")
    if member.flag_bits & 1:
        problems.append(f"member {name!r} is encrypted")
    if member.file_size > limits.ratio * max(member.compress_size, _PACKED_TOO_LITTLE):
        problems.append(f"member {name!r} claims to unpack {member.file_size:,} bytes")
    return problems
