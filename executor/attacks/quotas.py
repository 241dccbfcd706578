"""Attacks on what a machine has only so much of: memory, the kernel's quotas, and the sight of the watcher."""

from __future__ import annotations

from executor.attacks.kind import Attack

HOLDS = """
import mmap, select, time
MB, libc.mmap.restype = 1 << 20, ctypes.c_void_p
def out_of_sight(memory):
    memory.madvise(mmap.MADV_DONTNEED)
    return memory
def fill(memory, size):
    for at in range(0, size, MB): memory[at:at + MB] = b"x" * MB
    return memory
def held(megabytes):
    time.sleep(LOOK_S)
    try: gone = os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError: gone = 0
    if not gone: breached("%d MB held" % megabytes)
def hold_in(processes, megabytes, kept):
    "breached where each of so many processes says that it holds its share, and none of them was ended"
    ready, tell = os.pipe()
    for turn in range(processes):
        if os.fork() == 0:
            try:
                mine = kept()
                os.write(tell, b"!")
                time.sleep(60)
            finally: os._exit(1)
    said, end = 0, time.monotonic() + 40
    while said < processes and time.monotonic() < end and not os.waitpid(-1, os.WNOHANG)[0]:
        if select.select([ready], [], [], 0.1)[0]: said += len(os.read(ready, processes))
    if said == processes: held(processes * megabytes)
"""
_FILLED = """
import _socket, fcntl
def attack():
    PAIR
    sums, tell = os.pipe()
    for turn in range(20):
        if os.fork() == 0:
            filled = 0
            try:
                while True:
                    for end in PAIR[::-1]:
                        os.set_blocking(end, False)
                        try: fcntl.fcntl(end, 1031, MB)
                        except OSError: pass
                        try:
                            while True: filled += os.write(end, b"x" * 65536)
                        except OSError: pass
            except OSError: pass
            os.write(tell, b"%10d" % filled)
            time.sleep(60)
    total = sum(int(os.read(sums, 10)) for turn in range(20))
    if total > 600 * MB: held(total / MB)
tries(attack)
"""


def _hold(tried: str, code: str) -> Attack:
    return Attack(tried, HOLDS + code)


MEMORY = {
    "files without a name": _hold(
        "1,200 MB in memfds",
        """
def attack():
    files = [os.memfd_create("m") for turn in range(20)]
    for file in files:
        for turn in range(60): os.write(file, b"x" * MB)
    held(1200)
tries(attack)
""",
    ),
    "memory that several processes map": _hold(
        "three processes that share 300 MB each",
        """
def attack():
    mmap.mmap(-1, MB)  # an error ends the attack here
    hold_in(3, 300, lambda: fill(mmap.mmap(-1, 300 * MB), 300 * MB))
tries(attack)
""",
    ),
    "shared memory put out of sight": _hold(
        "1,200 MB shared, then MADV_DONTNEED",
        """
def attack():
    mmap.mmap(-1, MB)
    hold_in(4, 300, lambda: [out_of_sight(fill(mmap.mmap(-1, 20 * MB), 20 * MB)) for turn in range(15)])
tries(attack)
""",
    ),
    "a device mapped by several processes": _hold(
        "the same with /dev/zero",
        """
def attack():
    file = os.open("/dev/zero", os.O_RDWR)
    mmap.mmap(file, MB)
    hold_in(4, 300, lambda: [out_of_sight(fill(mmap.mmap(file, 20 * MB), 20 * MB)) for turn in range(15)])
tries(attack)
""",
    ),
    "what sockets hold": _hold(
        "buffers of sockets that nobody reads",
        _FILLED.replace("PAIR", "[_socket.socket.detach(one) for one in _socket.socketpair(1, 1, 0)]"),
    ),
    "what pipes hold": _hold("buffers of pipes that nobody reads", _FILLED.replace("PAIR", "os.pipe()")),
}
"""Made for a session of 400 MB. Each takes `LOOK_S` and some seconds."""

QUOTAS = {
    "asynchronous reads and writes": Attack(
        "io_setup of 4,096",
        ("n = ctypes.c_ulong()\ntries(lambda: call('io_setup', 4096, ctypes.addressof(n)))"),
    ),
    "pages of a hundredfold size": Attack(
        "mmap of huge pages",
        "tries(lambda: call('mmap', 0, 2 << 20, 3, 0x40022, -1, 0) and 'mapped')",
    ),
    "a file of such pages": Attack("memfd_create of huge pages", "tries(lambda: os.memfd_create('m', 4) > 0)"),
    "a lease on a library, for which its next writer waits": Attack(
        "F_SETLEASE",
        (
            "import fcntl\n"
            "file = os.open('leased', os.O_CREAT | os.O_RDONLY)\n"
            "tries(lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK) == 0)"
        ),
    ),
    "a watch on a folder by the old way": Attack(
        "F_NOTIFY",
        ("import fcntl\ntries(lambda: fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 2) == 0)"),
    ),
    "a watch on a file": Attack("inotify", "tries(lambda: libc.inotify_init() > 0)"),
    "a queue of messages": Attack("mq_open", "tries(lambda: libc.mq_open(b'/q%d' % os.getpid(), 0o102, 0o600, 0) > 0)"),
    "shared memory of the old kind": Attack("shmget", "tries(lambda: call('shmget', 0, 4096, 0o1600))"),
    "semaphores of the old kind": Attack("semget", "tries(lambda: call('semget', 0, 1, 0o1600))"),
    "a key": Attack("add_key", "tries(lambda: call('add_key', ctypes.create_string_buffer(b'user'), 0, 0, 0, -3))"),
    "a counter of the processor": Attack(
        "perf_event_open",
        ("given = ctypes.create_string_buffer(200)\ntries(lambda: call('perf_event_open', given, 0, -1, -1, 0))"),
    ),
    "a terminal": Attack("open /dev/ptmx", "tries(lambda: os.open('/dev/ptmx', os.O_RDWR))"),
    "faults handled by itself": Attack("userfaultfd", "tries(lambda: call('userfaultfd', 1))"),
    "descriptors under way in a socket": Attack(
        "SCM_RIGHTS to itself",
        (
            "import array, socket\n"
            "one, other = socket.socketpair()\n"
            "tries(lambda: socket.send_fds(one, [b'x'], [0]) > 0)"
        ),
    ),
    "a share of the processor for each process": Attack(
        "setsid, for which the kernel gives a share of its own",
        """
child = os.fork()
if child == 0:
    before = os.getsid(0)
    try: os.setsid()
    except OSError: pass
    os._exit(os.getsid(0) != before)
tries(lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1)
""",
    ),
    "a core file by the machine's helper": Attack(
        "PR_SET_DUMPABLE and RLIMIT_CORE",
        (
            "import resource\n"
            "tries(lambda: libc.prctl(4, 1, 0, 0, 0) == 0,\n"
            "      lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)) or 'set')"
        ),
    ),
}

ESCAPES = {
    "a child of its parent": Attack(
        "clone with CLONE_PARENT", "tries(lambda: call('clone', 0x8000 | 17, 0, 0, 0, 0) or os._exit(0))"
    ),
    "no orphan of its own": Attack(
        "give up the adoption of orphans", "tries(lambda: libc.prctl(36, 0, 0, 0, 0) == 0 and 'given up')"
    ),
}

_FILLS = """
import time
def fill(folder, *, keeps_name=True):
    kept = []
    for turn in range(40):
        path = os.path.join(folder, "fill%d" % turn)
        kept.append(open(path, "wb"))
        if not keeps_name: os.unlink(path)
        kept[-1].write(bytes(4 << 20))
        kept[-1].flush()
    time.sleep(LOOK_S)
    return "160 MB"
"""
DISK = {
    "files in deep folders": Attack(
        "160 MB twenty folders down",
        _FILLS + "os.makedirs(deep := '/'.join(['d'] * 20))\ntries(lambda: fill(deep))",
    ),
    "files deeper than anybody looks": Attack(
        "160 MB three hundred folders down",
        _FILLS + "for turn in range(300):\n    os.mkdir('d')\n    os.chdir('d')\ntries(lambda: fill('.'))",
    ),
    "files in the temporary folder": Attack("160 MB in TMPDIR", _FILLS + "tries(lambda: fill(os.environ['TMPDIR']))"),
    "files that have lost their name": Attack(
        "160 MB in files that are open and unlinked",
        _FILLS + "tries(lambda: fill('.', keeps_name=False))",
        needs="private root",
    ),
}
"""Made for a session of 64 MB of files."""
