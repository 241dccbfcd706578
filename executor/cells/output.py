"""What the subprocesses of a thread print for the running cell: stdout and stderr, each bounded."""

from __future__ import annotations

from executor.files.home import Home
from executor.output_capture import Capture
from executor.values import Artifact, Limits


class CellOutput:
    """Captures that are open while a subprocess lives; what is printed between two cells belongs to the next one."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._limits: Limits | None = None
        self._captures: dict[str, Capture] = {}
        """Of the streams that something was printed to: most cells print to one of them at most."""

    @property
    def is_open(self) -> bool:
        """Whether what is printed is kept."""
        return self._limits is not None

    def open(self, limits: Limits) -> None:
        """Begin empty captures. What the ones before held is dropped."""
        self.drop()
        self._limits = limits

    def feed(self, stream: str, data: bytes) -> str:
        """Take bytes of a stream; returns the text of the lines that they completed."""
        if self._limits is None:
            return ""
        if (capture := self._captures.get(stream)) is None:
            limit, whole = self._limits.output_kb << 10, self._limits.output_file_mb << 20
            capture = self._captures[stream] = Capture(limit, self._home.temporary, whole)
        return capture.feed(data)

    def take(self, stream: str) -> tuple[str, tuple[Artifact, ...]]:
        """(the text to show, the file with the whole of it when it had to be shortened). The stream begins anew."""
        capture = self._captures.pop(stream, None)
        if capture is None:
            return "", ()
        shown = capture.finish()
        whole = capture.close()
        if whole is None:
            return shown, ()
        try:
            path = str(self._home.adopt(whole.path, whole.sha256))
        except OSError:  # a full disk, as in the capture: the whole of it is not kept
            whole.path.unlink(missing_ok=True)
            return shown, ()
        return shown, (Artifact(f"{stream}.txt", "text/plain", whole.size, whole.sha256, path),)

    def drop(self) -> None:
        """Keep nothing any more, and forget what the streams held."""
        for capture in self._captures.values():
            if (whole := capture.close()) is not None:
                whole.path.unlink()
        self._limits, self._captures = None, {}
