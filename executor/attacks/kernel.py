"""Attacks by system calls: sockets, programs, and powers over the machine."""

from __future__ import annotations

from executor.attacks.kind import Attack

SOCKETS = {
    "open a UDP socket": Attack(
        "send a datagram to 127.0.0.1",
        "tries(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)))",
    ),
    "ask for a name": Attack(
        "a UDP socket to port 53",
        "tries(lambda: socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 53)) or 'connected')",
    ),
    "open a TCP socket": Attack("bind a TCP port", "tries(lambda: socket.socket().bind(('127.0.0.1', 0)) or 'bound')"),
    "open an abstract socket": Attack(
        "bind a name that is in no folder",
        "tries(lambda: socket.socket(socket.AF_UNIX).bind('\\0attack%d' % os.getpid()) or 1)",
    ),
    "open a unix socket": Attack(
        "bind a socket in the workspace", "tries(lambda: socket.socket(socket.AF_UNIX).bind('sock') or 'bound')"
    ),
    "open a netlink socket": Attack(
        "speak to the kernel's network",
        "tries(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).fileno())",
    ),
    "open a raw socket": Attack(
        "packets of one's own making", "tries(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno())"
    ),
    "open a packet socket": Attack(
        "read what others send", "tries(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).fileno())"
    ),
    "open a vsock": Attack(
        "speak to the hypervisor", "tries(lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).fileno())"
    ),
    "open a pair of another family": Attack(
        "socketpair of TIPC", "tries(lambda: socket.socketpair(socket.AF_TIPC)[0].fileno())"
    ),
    "send out of band": Attack(
        "MSG_OOB on a pair of one's own",
        """
import _socket
tries(lambda: _socket.socketpair(1, 1, 0)[0].send(b"x", _socket.MSG_OOB))
""",
    ),
    "receive out of band": Attack(
        "the same, received in three ways",
        """
import _socket
def on_a_pair(receive):
    end, other = _socket.socketpair(1, 1, 0)
    return looked(lambda: receive(end))
tries(*[lambda one=one: on_a_pair(one) for one in (
    lambda end: end.recv(1, _socket.MSG_OOB),
    lambda end: end.recvmsg(1, 0, _socket.MSG_OOB),
    lambda end: call("recvmmsg", end.fileno(), 0, 0, 1, 0),
)])
""",
    ),
    "set up io_uring": Attack(
        "a queue that the filter of calls does not see",
        "b = ctypes.create_string_buffer(256)\ntries(lambda: call('io_uring_setup', 1, ctypes.addressof(b)))",
    ),
}
PROGRAMS = {
    "run a program": Attack(
        "/bin/true", 'import subprocess as s\ntries(lambda: s.run(["/bin/true"]).returncode == 0 and "ran")'
    ),
    "run curl": Attack(
        "curl --version",
        'import subprocess as s\ntries(lambda: s.run(["curl", "--version"], stdout=-3).returncode == 0)',
    ),
    "run itself": Attack(
        "Python again", 'import subprocess as s\ntries(lambda: s.run([sys.executable, "-c", ""]).returncode == 0)'
    ),
    "run a program by descriptor": Attack(
        "execve of an open file",
        """
def run():
    file = os.open("/bin/true", os.O_RDONLY)
    child = os.fork()
    if child == 0:
        try: os.execve(file, ["true"], {})
        finally: os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
tries(run)
""",
    ),
    "run a program from memory": Attack(
        "execve of a file without a name",
        """
def run():
    file = os.memfd_create("program")
    os.write(file, open("/bin/true", "rb").read())
    child = os.fork()
    if child == 0:
        try: os.execve(file, ["true"], {})
        finally: os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
tries(run)
""",
    ),
}
POWERS = {
    "become root": Attack("setuid 0", "tries(lambda: os.setuid(0) or 'root')"),
    "unshare a user namespace": Attack("powers in a namespace of one's own", "tries(lambda: call('unshare', 1 << 28))"),
    "clone into a user namespace": Attack(
        "the same with a child", "tries(lambda: call('clone', 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0))"
    ),
    "trace itself": Attack("ptrace", "tries(lambda: call('ptrace', 0, 0, 0, 0))"),
    "use the key ring": Attack("keyctl", "tries(lambda: call('keyctl', 0, -3, 1))"),
    "make shared memory": Attack("shmget", "tries(lambda: call('shmget', 0, 4096, 0o1600))"),
    "lower its own priority's floor": Attack(
        "nice -1", "tries(lambda: os.setpriority(os.PRIO_PROCESS, 0, -1) or 'set')"
    ),
    "end the session host": Attack(
        "a signal that does nothing, which needs the same right", "tries(lambda: os.kill(HOST_PID, 0) or 'could have')"
    ),
    "mount something": Attack(
        "mount a file system in memory",
        """
os.makedirs("m", exist_ok=True)
tries(lambda: call("mount", b"t", b"m", b"tmpfs", 0, 0) == 0 and "mounted")
libc.umount2(b"m", 2)
""",
    ),
    "leave by another root": Attack("chroot", "tries(lambda: os.chroot('.') or 'left')"),
    "open a file by handle": Attack(
        "name_to_handle_at, past every path",
        "made = ctypes.create_string_buffer(b'\\x80' + bytes(255))\n"
        "tries(lambda: call('name_to_handle_at', -100, b'/', made, ctypes.create_string_buffer(8), 0))",
    ),
    "load a program into the kernel": Attack(
        "bpf", "tries(lambda: looked(lambda: call('bpf', 5, ctypes.create_string_buffer(64), 64)))"
    ),
    "type into a terminal": Attack(
        "TIOCSTI", "import fcntl\ntries(lambda: looked(lambda: fcntl.ioctl(0, 0x5412, b'x')))"
    ),
    "lift its own limits": Attack(
        "setrlimit above the hard limit",
        "import resource\ntries(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20,) * 2) or 'lifted')",
    ),
    "change another's limits": Attack(
        "prlimit of the session host",
        "import resource\ntries(lambda: resource.prlimit(HOST_PID, resource.RLIMIT_CORE))",
    ),
}
"""Some need HOST_PID."""
