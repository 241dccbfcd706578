"""An S3-compatible server on loopback (moto's), as a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import s3fs
import shared_aws
from patience import PATIENCE_S, eventually, reserved_port


@dataclass(frozen=True)
class ObjectStore:
    """The server's address, and the variables that point an AWS client to it."""

    endpoint: str
    process: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of processes that use it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "playground",
            "AWS_SECRET_ACCESS_KEY": "playground",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def signal(self, signum: int) -> None:
        """SIGSTOP makes it silent. SIGCONT lets it answer the requests that came meanwhile."""
        self.process.send_signal(signum)

    def bucket(self) -> str:
        """The URL of a fresh bucket."""
        name = f"threadbook-{uuid.uuid4().hex[:12]}"
        s3fs.S3FileSystem(key="playground", secret="playground", endpoint_url=self.endpoint).mkdir(name)
        return f"s3://{name}/files"


@contextmanager
def object_store(log: Path) -> Iterator[ObjectStore]:
    """The server while the block runs. Clients in this process share what they read from their own package."""
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    with (
        shared_aws.used(),
        reserved_port() as port,
        log.open("wb") as output,
        subprocess.Popen([*command, str(port)], stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert process.poll() is None, log.read_text()[-2000:]
            with suppress(httpx.TransportError):
                httpx.get(url, trust_env=False, timeout=PATIENCE_S)
                return True
            return False

        try:
            eventually(answers, "the object store")
            yield ObjectStore(url, process)
        finally:
            process.terminate()
            process.send_signal(signal.SIGCONT)
