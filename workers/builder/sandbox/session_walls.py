"""The walls of a thread's session, for programs that are being built.

Files are placed and read by the Python of a session, programs are started by the shell beside it. That shell may run
what lies in the read-only folders of the system and nothing that lies in the workspace; it has no socket, no secret and
no file of the host (executor/PROTOCOL.md, docs/security.md). The command lines are made here, and every word that comes
from a requirement file or a model is quoted; what a model wrote is only ever a file.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from executor.client import HostUnavailable, RequestError, SessionClient
from executor.launch import codes_of
from executor.values import CellResult
from workers.builder.sandbox.walls import TOUCHED_KINDS, Job, Ran, Touched, WallsGone

JOBS_PER_SESSION = 40
"""After this many jobs, the next one gets a fresh session. So nothing that a program left running lives on for long."""
FILE_CHARS = 200_000
PREPARE_S = 120.0
"""How long a compiler may take."""
_TOUCHED = 40
_STOPPED = ("timeout", "killed", "died")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACE = """
import json as _json, os as _os
_job = _json.loads({payload})
for _name, _text in _job["files"].items():
    _os.makedirs(_os.path.dirname(_name) or ".", exist_ok=True)
    with open(_name, "w", encoding="utf-8", errors="surrogatepass", newline="") as _file:
        _file.write(_text)
_os.makedirs(_job["folder"], exist_ok=True)
del _job
"""
_READ = """
import json as _json, shutil as _shutil
def _read(name, limit):
    try:
        with open(name, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return None
_job = _json.loads({payload})
print(_json.dumps({{name: _read(name, _job["limit"]) for name in _job["names"]}}), flush=True)
for _name in _job["folders"]:
    _shutil.rmtree(_name, ignore_errors=True)
del _job, _read, _name
"""
_WATCH = '''
"""Notes what a program tries to use beyond its own folder. Told only: the walls do not depend on it."""
def _watch():
    import json, os, sys
    own, out = os.getcwd(), os.open(os.environ["THREADBOOK_TOUCHED"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    system = {sys.prefix, sys.base_prefix, "/usr", "/lib", "/etc/ssl", "/etc/localtime", "/dev/", "/proc/self"}
    known = (own, *system, PACKAGES)
    seen = set()
    def note(kind, what):
        if (kind, what) not in seen and len(seen) < 40:
            seen.add((kind, what))
            os.write(out, (json.dumps([kind, what[:120]]) + "\\n").encode())
    def hook(event, arguments):
        try:
            if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "http.client.connect"):
                note("network", str(arguments[:2] if event == "socket.getaddrinfo" else arguments[1:3]))
            elif event == "socket.__new__" and arguments[1] != 1:
                note("network", "a socket")
            elif event == "urllib.Request":
                note("network", str(arguments[0]))
            elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pty.spawn"):
                note("processes", str(arguments[0]))
            elif event == "ctypes.dlopen" and arguments[0]:
                note("native code", str(arguments[0]))
            elif event == "open" and isinstance(arguments[0], (str, bytes)):
                path = os.path.abspath(os.fsdecode(arguments[0]))
                if not path.startswith(known):
                    note("files", path)
        except Exception:
            pass
    sys.addaudithook(hook)
_watch()
del _watch
'''


class SandboxWalls:
    """Jobs in sessions of a session host that was started with a shell. Close it, or use `with closing(...)`.

    Tools and programs have sessions of their own: what a program leaves running must not come near the files that a
    linter reads.
    """

    def __init__(self, sessions: SessionClient, name: str = "build", packages: Path | None = None) -> None:
        """`name` distinguishes the builds of one host. `packages` is a folder that the host shows, from which programs
        may import; tools do not."""
        self._sessions = sessions
        self._tools = _Rooms(sessions, f"{name}-tools")
        self._programs = _Rooms(sessions, f"{name}-programs", packages)
        self._level = ""

    @property
    def level(self) -> str:
        """The sandbox's own word: "strong", "reduced" or "none"."""
        if not self._level:
            try:
                self._level = self._sessions.ping().sandbox.level
            except HostUnavailable as error:
                raise WallsGone(str(error)) from error
        return self._level

    def run(self, job: Job) -> Ran:
        """Run a job in a folder of its own."""
        try:
            return (self._tools if job.tool else self._programs).run(job)
        except (HostUnavailable, RequestError) as error:
            raise WallsGone(str(error)) from error

    def close(self) -> None:
        """Delete what the sessions hold."""
        for rooms in (self._tools, self._programs):
            with suppress(HostUnavailable, RequestError):
                rooms.close()


class _Rooms:
    """One session after the other, for jobs of one kind."""

    def __init__(self, sessions: SessionClient, name: str, packages: Path | None = None) -> None:
        self._sessions = sessions
        self._packages = str(packages) if packages else ""
        self._name = name
        self._number = 0
        self._jobs = 0
        self._cells = 0

    def run(self, job: Job) -> Ran:
        """Run a job. The first job gets a fresh session, and then each one after `JOBS_PER_SESSION` others."""
        if self._jobs % JOBS_PER_SESSION == 0:
            self._renew()
        self._jobs += 1
        folder = f"job-{self._jobs}"
        files = {f"{folder}/{path}": text for path, text in job.files.items()}
        files[f"{folder}.stdin"] = job.stdin
        environment = {"PYTHONDONTWRITEBYTECODE": "1", **job.environment}
        modules = [environment.get("PYTHONPATH", ""), self._packages]  # stand-ins come before what they stand for
        if job.observed:
            files[f"{folder}.watch/sitecustomize.py"] = _WATCH.replace("PACKAGES", repr(self._packages or "/usr"))
            modules.insert(0, f"../{folder}.watch")
            environment["THREADBOOK_TOUCHED"] = f"../{folder}.touched"
        environment["PYTHONPATH"] = ":".join(filter(None, modules))
        placed = self._python(_PLACE, {"folder": folder, "files": files})
        if placed.status != "ok":  # an earlier job may have filled the workspace outside of its folder
            self._renew()
            placed = self._python(_PLACE, {"folder": folder, "files": files})
        if placed.status != "ok":
            why = placed.error.message if placed.error else codes_of(placed.notices)
            return Ran("killed", None, why=f"its files could not be placed ({why})")
        if job.prepare:
            prepared = self._bash(_line(job.prepare, folder, {"LC_ALL": "C"}), PREPARE_S)
            if prepared.exit_status != 0:
                if prepared.status in _STOPPED:
                    self._renew()
                return _ran(prepared, replace(job, timeout_s=PREPARE_S), folder, {}, prepared=False)
        result = self._bash(_line(job.words, folder, environment), job.timeout_s)
        left = self._read(folder, [*(f"{folder}/{path}" for path in job.wanted), f"{folder}.touched"])
        if result.status in _STOPPED:
            self._renew()  # what it started may still run
        return _ran(result, job, folder, left)

    def close(self) -> None:
        """Delete the session."""
        if self._number:
            self._sessions.purge(self._thread)

    def _read(self, folder: str, names: list[str]) -> Mapping[str, str]:
        """What a job left under these names. The rest is deleted: it would fill the workspace of the jobs to come."""
        payload = {"names": names, "limit": FILE_CHARS, "folders": [folder, f"{folder}.watch"]}
        result = self._python(_READ, payload)
        try:
            found = json.loads(result.stdout)
        except (ValueError, RecursionError):
            return {}
        return {name: text for name, text in found.items() if isinstance(text, str)}

    def _python(self, source: str, payload: Mapping[str, Any]) -> CellResult:
        code = source.format(payload=repr(json.dumps(payload)))
        return self._sessions.run(self._thread, self._cell(), code, timeout_s=30)

    def _bash(self, line: str, timeout_s: float) -> CellResult:
        return self._sessions.bash(self._thread, self._cell(), line, approve=_ours, timeout_s=timeout_s)

    def _renew(self) -> None:
        self.close()
        self._number += 1

    @property
    def _thread(self) -> str:
        return f"B:{self._name}:{self._number}"

    def _cell(self) -> str:
        self._cells += 1
        return f"{self._cells}"


def _line(words: tuple[str, ...], folder: str, environment: Mapping[str, str]) -> str:
    """The command line: every word quoted, programs looked for in the interpreter's folder first."""
    given = " ".join(
        f"{name}={shlex.quote(value)}"
        for name, value in environment.items()
        if _VARIABLE.fullmatch(name) and name != "PATH" and "\0" not in value  # a PATH of its own would hide the tools
    )
    program = sys.executable if words[0] == "python" else words[0]
    line = " ".join(shlex.quote(word.replace("\0", "")) for word in (program, *words[1:]))
    path = f'PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH" TMPDIR="$HOME"'  # /tmp may be the host's
    return f"( cd -- {folder} && exec env {path} {given} {line} ) <{folder}.stdin"


def _ours(command: str) -> bool:
    """The line was made by `_line`: nobody has to look at it."""
    return True


def _ran(result: CellResult, job: Job, folder: str, left: Mapping[str, str], *, prepared: bool = True) -> Ran:
    ended = result.status in ("ok", "error")
    touched = []
    for line in left.get(f"{folder}.touched", "").splitlines()[:_TOUCHED]:
        try:
            kind, what = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if kind in TOUCHED_KINDS and isinstance(what, str):
            touched.append(Touched(kind, what[:120]))
    return Ran(
        status="ok" if ended else "timeout" if result.status == "timeout" else "killed",
        exit_code=result.exit_status,
        stdout=result.stdout,
        stderr=result.stderr,
        files={path: left[f"{folder}/{path}"] for path in job.wanted if f"{folder}/{path}" in left},
        touched=tuple(dict.fromkeys(touched)),
        why="" if ended else _why(result, job),
        seconds=result.duration_s,
        prepared=prepared,
    )


def _why(result: CellResult, job: Job) -> str:
    return f"it did not end within {job.timeout_s:g} s" if result.status == "timeout" else codes_of(result.notices)
