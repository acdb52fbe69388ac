"""ZIP archives of annotation tools, opened in a place of their own; what would fill the disk is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile, is_zipfile

from surgvalid.errors import FileUnreadable

MOST_BYTES, MOST_FILES, MOST_RATIO = 8 << 30, 500_000, 200
_SMALL = 1 << 24
"""Below this size any ratio of compression is harmless."""


def is_archive(path: Path) -> bool:
    """Whether the file is an archive that can be opened here."""
    return path.suffix.lower() == ".zip" and path.is_file() and is_zipfile(path)


@contextmanager
def opened_archive(path: Path) -> Iterator[Path]:
    """A folder, called as the archive is, with what it holds; it is gone afterwards.

    Raises:
        FileUnreadable: Broken, larger than any export, or with members that point outside.
    """
    with TemporaryDirectory() as place:
        home = Path(place, path.stem)
        try:
            with ZipFile(path) as archive:
                members = archive.infolist()
                size = sum(member.file_size for member in members)
                packed = max(sum(member.compress_size for member in members), 1)
                names = [member.filename for member in members]
                outside = [name for name in names if ".." in PurePosixPath(name).parts or name.startswith("/")]
                if outside:
                    raise FileUnreadable(str(path), [f"the archive holds {outside[0]!r}, which points outside of it"])
                if size > MOST_BYTES or len(members) > MOST_FILES or (size > _SMALL and size > MOST_RATIO * packed):
                    raise FileUnreadable(str(path), [f"the archive would unpack to {size:,} bytes; unpack it yourself"])
                archive.extractall(home)
        except (BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
            raise FileUnreadable(str(path), [f"the archive cannot be opened: {error}"]) from None
        yield home
