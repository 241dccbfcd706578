"""What an attack is, and the functions that all of them are written with."""

from __future__ import annotations

from dataclasses import dataclass

from executor.sandbox import calls, seccomp


@dataclass(frozen=True, slots=True)
class Attack:
    """`tried` says in a few words what it does, `code` is the cell. `needs` names the layer without which it gets
    through, as the level of such a host says."""

    tried: str
    code: str
    needs: str = ""


_NUMBERS = seccomp.MACHINES.get(calls.MACHINE, seccomp.MACHINES["x86_64"]).calls

REACH = f"""
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
NUMBERS = {_NUMBERS!r}
LOOK_S = 4  # longer than any watcher looks away
def breached(what): print("BREACHED", what)
def tries(*attempts):
    for attempt in attempts:
        try:
            got = attempt()
        except Exception as error:
            print("held:", type(error).__name__, getattr(error, "strerror", None) or error)
        else:
            if got is not None and got is not False: breached(got)
def looked(attempt):
    try: return attempt()
    except OSError as error:
        if error.errno == errno.EPERM: raise
        return "the kernel looked at it: " + str(error)
def call(name, *words):
    plain = (bytes, ctypes.Array)
    words = [word if isinstance(word, plain) else ctypes.c_long(word) for word in (NUMBERS[name], *words)]
    result = libc.syscall(*words)
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""
"""What an attacking cell begins with: `tries(...)` prints BREACHED when an attempt gets somewhere.
`looked` is for what the kernel itself would refuse: there, already another error than EPERM says that no wall stood."""


def given(**values: object) -> str:
    """The lines that tell a cell what there is to attack: HOST_PID, the VICTIM_PID and VICTIM_FOLDER of another thread,
    and CANARY, a file of the host that no session may read or change."""
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())
