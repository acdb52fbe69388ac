"""A report on this machine alone, with its frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from surgeval.report.cases.frames import frames_in, is_jpeg
from surgeval.report.local_server import NOT_HERE, LocalServer, Reply
from surgeval.report.report import Report


class ReportServer(LocalServer):
    """Serves one report with its frames on 127.0.0.1."""

    def __init__(self, report: Report, *, port: int = 0, images: Path | None = None) -> None:
        """Take a port, 0 for a free one; nothing is answered before `serve_forever`.

        Args:
            report: What is shown.
            port: Of 127.0.0.1.
            images: Folder of the images that predictions are about, where the reported folder does not hold them.
        """
        super().__init__(port=port)
        [self.token] = self.tokens
        page, self.sources = report.html_with_frames(frames_in(report.inputs, images), f"/{self.token}/frames/")
        self.page = page.encode("utf-8", "replace")

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.address_of()

    def get(self, name: str, rest: str, headers: Mapping[str, str]) -> Reply:
        """The page or one frame."""
        del name, headers
        if not rest:
            return Reply(200, self.page, "text/html; charset=utf-8")
        number = rest.removeprefix("frames/").removesuffix(".png")
        known = number.isdecimal() and int(number) < len(self.sources)
        data = self.sources[int(number)]() if known else None
        return NOT_HERE if data is None else Reply(200, data, "image/jpeg" if is_jpeg(data) else "image/png")
