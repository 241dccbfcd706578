"""Fetching a file that a person put into Slack: the token goes to known hosts only, and what comes back is checked.

Slack answers a download it does not allow with status 200 and an HTML login page, may redirect to its own file servers,
and announces files of shared channels without an address. A lasting failure is a `UsersMove`: a sentence for its owner.
A temporary failure is a `FileUnreachable`: the turn waits and tries again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from copy import copy
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpcore  # noqa: F401  httpx imports it with its first client, and that would be in each job
import httpx
from slack_sdk import WebClient

from core.errors import FileUnreachable, SlackFailed, SlackUnreachable, UsersMove, outline
from core.slack.client import ours, repeating
from core.slack.connections import tls
from core.slack.reading.files import file_ref
from core.telemetry import get_logger
from core.tour import MODE, sample
from core.values import FileRef

log = get_logger(__name__)

MAX_HOPS = 3
ATTEMPTS = 2
SLACK_DOMAINS = ("slack.com", "slack-edge.com", "slack-files.com")
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
CHUNK_BYTES = 1 << 20

_NOT_HERE = {
    "tombstone": "file_vanished",
    "hidden_by_limit": "file_hidden",
    "external": "file_external",
    "quip": "file_canvas",
    "canvas": "file_canvas",
    "list": "file_canvas",
}
"""Modes of files of which Slack gives no bytes, and what is said of them."""
_SLACKS_OWN = frozenset({"application/vnd.slack-docs", "application/vnd.slack-list"})
"""Canvases and lists. Slack answers with a page for people, which is hard to tell from its login page."""
_PORTS = {"http": 80, "https": 443}
_PASSES = frozenset({408, 425, 429})
"""Answers below 500 that mean "later"."""

LookUp = Callable[[str], FileRef]
"""Asks Slack for a file by its id (files.info). Raises UsersMove when Slack does not tell, SlackUnreachable when it
cannot be asked now."""


def is_slacks(host: str) -> bool:
    """Whether a host is one of Slack's own."""
    return any(host == domain or host.endswith("." + domain) for domain in SLACK_DOMAINS)


def look_up_with(client: WebClient) -> LookUp:
    """Looks files up with this client. If Slack refuses for good, the owner has to act; all other failures are
    temporary."""
    again = repeating(client)

    def look_up(file_id: str) -> FileRef:
        try:
            with ours("files.info"):
                found = file_ref(again.files_info(file=file_id).get("file"))
        except SlackFailed as refused:
            raise UsersMove("file_vanished" if refused.error == "file_deleted" else "file_no_access") from refused
        if found is None:
            raise UsersMove("file_no_access")
        return found

    return look_up


class _LaterPerhaps(Exception):
    """One try failed in a way that passes by itself."""


class _Connections:
    """An httpx client that is made with the first file: most turns bring none."""

    def __init__(self, make: Callable[[], httpx.Client]) -> None:
        self._make = make
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def client(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = self._make()
            return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class Downloader:
    """Downloads files with the bot's token. Use as a `with` block; safe to share between threads."""

    def __init__(
        self,
        token_of: Callable[[], str],
        *,
        hosts: Collection[str] = (),
        max_bytes: int,
        look_up: LookUp,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`hosts` are trusted beside Slack's own, as "host" or "host:port"; plain http is allowed for them alone.

        `token_of` reads the token for each request; it raises an OSError where there is none.
        """
        self._token_of = token_of
        self._hosts = frozenset(host.lower() for host in hosts)
        self._max_bytes = max_bytes
        self._look_up = look_up
        # Without "identity" a compressed answer would never have the size that Slack announced.
        headers = {"Accept-Encoding": "identity"}
        self._connections = _Connections(
            lambda: httpx.Client(
                follow_redirects=False, timeout=TIMEOUT, headers=headers, verify=tls(), transport=transport
            )
        )

    def for_workspace(self, token_of: Callable[[], str], look_up: LookUp) -> Downloader:
        """One with the token of another workspace, over the same connections, which this one closes."""
        other = copy(self)
        other._token_of, other._look_up = token_of, look_up
        return other

    def fetch(self, file: FileRef, to: Path) -> FileRef:
        """Write the file's bytes to `to`; returns the file with its true name, type and size.

        Raises UsersMove, or FileUnreachable when it may work later.
        """
        if file.mode == MODE:
            to.write_bytes(sample())
            return file
        if file.mode != "hidden_by_limit":  # Slack may show that one again
            _refuse_without_bytes(file)
        if not file.url or file.mode == "file_access":
            try:
                file = self._look_up(file.id)
            except SlackUnreachable as error:
                raise FileUnreachable(file.name, str(error)) from error
        _refuse_without_bytes(file)
        if not file.url:
            raise UsersMove("file_vanished")
        self._refuse_too_large(file.size)
        passing: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                size = self._try(file, to)
            except _LaterPerhaps as error:
                passing = error
                continue
            if size is not None and file.size in (0, size):
                return file.model_copy(update={"size": size})
            passing = None
        if passing is not None:
            raise FileUnreachable(file.name, str(passing)) from passing
        raise UsersMove("file_download_failed")

    def _try(self, file: FileRef, to: Path) -> int | None:
        """The number of bytes written; None for an answer of no use. Raises _LaterPerhaps, UsersMove."""
        url = file.url
        try:
            headers = {"Authorization": f"Bearer {self._token_of()}"}
        except OSError as error:
            raise _LaterPerhaps("the workspace has no token now") from error
        try:
            for _ in range(MAX_HOPS + 1):
                if not self._trusted(url):
                    raise UsersMove("file_host_not_allowed", host=urlsplit(url).hostname or "?")
                with self._connections.client().stream("GET", url, headers=headers) as response:
                    if not response.has_redirect_location:
                        return self._save(file, response, to)
                    url = urljoin(url, response.headers["location"])
        except (httpx.UnsupportedProtocol, httpx.InvalidURL, ValueError) as error:
            log.warning("download_broke_off", file=file.id, error=error)
        except httpx.HTTPError as error:
            log.warning("download_broke_off", file=file.id, error=error)
            if not isinstance(error.__context__, httpx.InvalidURL):  # a redirect to nowhere stays one
                raise _LaterPerhaps(outline(error)) from error
        return None

    def _save(self, file: FileRef, response: httpx.Response, to: Path) -> int | None:
        if response.status_code in (404, 410):
            raise UsersMove("file_vanished")
        if response.status_code in (401, 403) or (_is_html(response) and not _expects_html(file)):
            raise UsersMove("file_login_page")
        if response.status_code != httpx.codes.OK:
            log.warning("download_refused", file=file.id, status=response.status_code)
            if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR or response.status_code in _PASSES:
                raise _LaterPerhaps(f"status {response.status_code}")
            return None
        size = 0
        with to.open("wb") as out:
            for chunk in response.iter_bytes(CHUNK_BYTES):
                size += len(chunk)
                self._refuse_too_large(size)
                out.write(chunk)
        return size

    def _refuse_too_large(self, size: int) -> None:
        if size > self._max_bytes:
            raise UsersMove("file_too_large", size_mb=f"{size / 1e6:.0f}", limit_mb=f"{self._max_bytes / 1e6:.0f}")

    def _trusted(self, url: str) -> bool:
        """Whether the token may go there: Slack's own servers over https, and hosts that an admin named.

        The address is read by who will send the request: another parser may see another host in it.
        """
        try:
            parts = httpx.URL(url)
        except httpx.InvalidURL:
            return False
        host = parts.raw_host.decode("ascii")
        port = parts.port or _PORTS.get(parts.scheme)
        if port is not None and (host in self._hosts or f"{host}:{port}" in self._hosts):
            return True
        return parts.scheme == "https" and is_slacks(host)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def __enter__(self) -> Downloader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _refuse_without_bytes(file: FileRef) -> None:
    """Raise UsersMove for what stands among the files of a message and is none."""
    reason = "file_canvas" if file.mimetype in _SLACKS_OWN else _NOT_HERE.get(file.mode)
    if reason is not None:
        raise UsersMove(reason)


def _is_html(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.split(";", maxsplit=1)[0].strip().lower() in ("text/html", "application/xhtml+xml")


def _expects_html(file: FileRef) -> bool:
    return "html" in file.mimetype or file.name.lower().endswith((".html", ".htm", ".xhtml"))
