"""Attacks on another thread, and what the thread that is attacked has (`VICTIMS_CELL`)."""

from __future__ import annotations

from executor.attacks.kind import Attack

VICTIMS_CELL = """
import os
secret = 'CANARY-' + '4711'
open('canary-file.txt', 'w').write(secret)
open(os.path.join(os.environ['TMPDIR'], 'canary-tmp'), 'w').write(secret)
try: open('/dev/shm/canary-shm', 'w').write(secret)
except OSError: pass
"""
SPY = """
seen = []
import matplotlib
tops = ["/tmp", "/dev/shm", "/workspace", "/home", "/var", "/proc", "/", "/cache", os.environ["TMPDIR"], "..", "../.."]
its = f"/proc/{VICTIM_PID}"
for top in [*tops, matplotlib.get_cachedir(), its + "/cwd", its + "/root/workspace", VICTIM_FOLDER]:
    for folder, folders, files in os.walk(top):
        seen += [os.path.join(folder, name) for name in files if "canary" in name]
        if folder.count("/") > 6: folders.clear()
for path in seen:
    tries(lambda: "CANARY" in open(path).read() and path)
"""
_SEEN = "namespaces"
NEIGHBOURS = {
    "list and read its files": Attack("search every folder for its files", SPY),
    "signal it": Attack("a signal that does nothing", "tries(lambda: os.kill(VICTIM_PID, 0) or 'signalled')"),
    "hold on to it": Attack("pidfd_open", "tries(lambda: os.pidfd_open(VICTIM_PID))", needs=_SEEN),
    "ask for its group": Attack("getpgid", "tries(lambda: os.getpgid(VICTIM_PID))", needs=_SEEN),
    "read its memory": Attack("/proc/PID/maps", 'tries(lambda: open(f"/proc/{VICTIM_PID}/maps").read(1))'),
    "read its environment": Attack("/proc/PID/environ", 'tries(lambda: open(f"/proc/{VICTIM_PID}/environ").read(1))'),
    "see its command line": Attack("/proc/PID/cmdline", 'tries(lambda: open(f"/proc/{VICTIM_PID}/cmdline").read(1))'),
    "trace it": Attack("ptrace", "tries(lambda: call('ptrace', 0x4206, VICTIM_PID, 0, 0))"),
    "read its memory by call": Attack(
        "pidfd_getfd", "tries(lambda: call('pidfd_getfd', os.pidfd_open(VICTIM_PID), 0, 0))"
    ),
    "count the machine's processes": Attack(
        "list /proc", "tries(lambda: sum(n.isdigit() for n in os.listdir('/proc')) > 5)"
    ),
}
"""These need VICTIM_PID and VICTIM_FOLDER."""
