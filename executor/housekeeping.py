"""What the session host does from time to time: enforce limits, share the processor, end unused sessions, make room."""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping
from contextlib import nullcontext

from executor.counters import Counters
from executor.event_loop import Loop
from executor.files.home import Home
from executor.notebook import Notebook
from executor.sessions import processor_share, resource_monitor
from executor.subprocesses import Subprocesses, report
from executor.values import Limits

_REST_EVERY_S = 1.0
_SWEEP_EVERY_S = 24 * 3600.0
_UNUSED_S = 7 * 24 * 3600.0  # a result that names a file is asked for again within minutes, after a crash


class Housekeeping:
    """Timers over all notebooks of the host."""

    def __init__(
        self,
        *,
        loop: Loop,
        home: Home,
        limits: Limits,
        subprocesses: Subprocesses,
        notebooks: MutableMapping[str, Notebook],
        counters: Counters,
    ) -> None:
        self._loop = loop
        self._home = home
        self._limits = limits
        self._subprocesses = subprocesses
        self._notebooks = notebooks
        self._counters = counters
        self._looks = 0
        self._shares = processor_share.Shares()

    def begin(self) -> None:
        """Do everything once, and again whenever it is due."""
        self._monitor_resources()
        self._share_processor()
        self._put_to_rest()
        self._sweep()

    def _monitor_resources(self) -> None:
        """Look at what sessions use, where the kernel does not count it."""
        self._loop.call_later(resource_monitor.EVERY_S, self._monitor_resources)
        if self._subprocesses.counted_by_kernel:
            return
        self._looks += 1
        for notebook in live(self._notebooks):
            for session in [session for session in notebook.sessions if session.pid]:
                rarely = notebook.running is None and self._looks % resource_monitor.IDLE_EVERY
                if rarely and resource_monitor.is_alone(session.pid):
                    continue
                forked = session is notebook.session  # the programs of a shell have inherited nothing
                workspace = notebook.workspace
                with workspace.written_folders() if not self._subprocesses.contained else nullcontext(()) as folders:
                    why = resource_monitor.excess(notebook.limits, session.pid, folders=folders, forked=forked)
                if why is not None:
                    session.kill(why, by_limit=True)

    def _share_processor(self) -> None:
        """Put sessions that are busy for long behind the others."""
        self._loop.call_later(processor_share.EVERY_S, self._share_processor)
        sessions = [session for notebook in live(self._notebooks) for session in notebook.sessions]
        self._shares.look([session.pid for session in sessions if session.pid], time.monotonic())

    def _put_to_rest(self) -> None:
        """End sessions that nobody has used for long; when memory is short, also the longest unused others."""
        self._loop.call_later(_REST_EVERY_S, self._put_to_rest)
        idle = [notebook for notebook in live(self._notebooks) if notebook.idle]
        longest = time.monotonic() - self._limits.idle_s
        short = self._memory_is_short()
        for notebook in sorted(idle, key=lambda notebook: notebook.last_used):
            unused = notebook.last_used <= longest
            if unused or short:
                self._counters.idle += unused
                self._counters.memory += not unused
                notebook.rest()
                short = short and self._memory_is_short()
        for thread_id, notebook in list(self._notebooks.items()):
            if notebook.dormant and notebook.last_used <= longest:
                self._notebooks.pop(thread_id).close()

    def _memory_is_short(self) -> bool:
        return resource_monitor.free_memory_percent() < self._limits.spare_memory_percent

    def _sweep(self) -> None:
        """Make room: content that nothing refers to any more."""
        self._loop.call_later(_SWEEP_EVERY_S, self._sweep)
        try:
            removed = self._home.sweep(_UNUSED_S)
        except OSError as error:  # one thread's disk trouble must not end the sessions of all others
            report(f"nothing was removed: {error.filename or 'a list of files'} cannot be read ({error.strerror})")
            return
        if removed:
            report(f"removed {removed:,} files that no thread has any more")


def live(notebooks: Mapping[str, Notebook]) -> list[Notebook]:
    """Notebooks with a subprocess."""
    return [notebook for notebook in notebooks.values() if notebook.session is not None]
