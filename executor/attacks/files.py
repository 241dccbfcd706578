"""Attacks on files: those of the host, of the libraries, and what is known of a file."""

from __future__ import annotations

from executor.attacks.kind import Attack

FILES = {
    "read a file of the host": Attack("open /etc/shadow", 'tries(lambda: open("/etc/shadow").read(1))'),
    "list the host's folders": Attack(
        "list /root and /var",
        'tries(lambda: os.listdir("/root"), lambda: os.listdir("/var"))',
    ),
    "write into a library": Attack(
        "make a file in the folder of Python's libraries",
        'tries(lambda: open(os.path.join(sys.prefix, "attack"), "w").write("x"))',
    ),
    "change the mode of a library": Attack(
        "fchmod, by a descriptor to read it by, to the mode that it has: the time of the change tells",
        """
def change(path):
    file = os.open(path, os.O_RDONLY)
    before = os.fstat(file)
    os.fchmod(file, before.st_mode & 0o7777)
    return os.fstat(file).st_ctime_ns != before.st_ctime_ns and path
tries(lambda: change(sys.executable), lambda: change(os.__file__))
""",
    ),
    "make a symbolic link": Attack(
        "a link to /etc/passwd in the workspace", 'tries(lambda: os.symlink("/etc/passwd", "link") or "made")'
    ),
    "make a pipe": Attack("mkfifo in the workspace", 'tries(lambda: os.mkfifo("pipe") or "made")'),
    "make a device": Attack(
        "mknod of /dev/null's number", 'tries(lambda: os.mknod("device", 0o20666, os.makedev(1, 3)) or "made")'
    ),
}
HOST_FILES = {
    "read a key of the service": Attack("open a file of the service", "tries(lambda: open(CANARY).read(1))"),
    "list the service's folder": Attack(
        "list the folder of the service", "tries(lambda: os.listdir(os.path.dirname(CANARY)))"
    ),
    "cut a file of the service to nothing": Attack(
        "truncate a file of the service", "tries(lambda: os.truncate(CANARY, 0) or 'cut')"
    ),
    "remove a file of the service": Attack(
        "unlink a file of the service", "tries(lambda: os.unlink(CANARY) or 'gone')"
    ),
    "take a file of the service along": Attack(
        "link and rename a file of the service into the workspace",
        "tries(lambda: os.link(CANARY, 'mine') or 'linked', lambda: os.rename(CANARY, 'mine') or 'moved')",
    ),
}
"""These need CANARY."""

CHANGE = """
import ctypes, fcntl, os, struct
def opened(): return os.open(CANARY, os.O_RDONLY)
name, here = os.fsencode(CANARY), -100
times = ctypes.create_string_buffer(struct.pack("4q", 1, 0, 1, 0))
def change():
    WAY
try: change()
except Exception as error: print("held:", type(error).__name__, getattr(error, "strerror", None) or error)
"""


def _change(tried: str, way: str) -> Attack:
    return Attack(tried, CHANGE.replace("WAY", way))


METADATA = {
    "chmod": _change("chmod 0777 of a file of the service", "os.chmod(CANARY, 0o777)"),
    "fchmod": _change("the same by a descriptor to read it by", "os.fchmod(opened(), 0o777)"),
    "fchmod of a path": _change(
        "the same by a descriptor of its path", 'os.chmod(f"/proc/self/fd/{os.open(CANARY, os.O_PATH)}", 0o777)'
    ),
    "fchmodat": _change(
        "the same from its folder",
        "os.chmod(os.path.basename(CANARY), 0o777, dir_fd=os.open(os.path.dirname(CANARY), os.O_PATH))",
    ),
    "fchmodat2": _change("the same by the newest call", 'call("fchmodat2", here, name, 0o777, 0)'),
    "chown": _change("give it another group", "os.chown(CANARY, -1, 12345)"),
    "lchown": _change("the same, not following links", "os.lchown(CANARY, -1, 12345)"),
    "fchown": _change("the same by a descriptor to read it by", "os.fchown(opened(), -1, 12345)"),
    "fchownat": _change("the same by the newer call", 'call("fchownat", here, name, -1, 12345, 0)'),
    "utime": _change("set its times", 'call("utime", name, 0)'),
    "utimes": _change("the same, to the microsecond", 'call("utimes", name, times)'),
    "futimesat": _change("the same from its folder", 'call("futimesat", here, name, times)'),
    "utimensat": _change("the same, to the nanosecond", "os.utime(CANARY, (1, 1))"),
    "futimens": _change("the same by a descriptor to read it by", "os.utime(opened(), (1, 1))"),
    "setxattr": _change("set an attribute of it", 'os.setxattr(CANARY, "user.mark", b"x")'),
    "fsetxattr": _change("the same by a descriptor", 'os.setxattr(opened(), "user.mark", b"x")'),
    "removexattr": _change("remove an attribute of it", 'os.removexattr(CANARY, "user.kept")'),
    "fremovexattr": _change("the same by a descriptor", 'os.removexattr(opened(), "user.kept")'),
    "chattr": _change("set a flag of it", 'fcntl.ioctl(opened(), 0x40086602, struct.pack("l", 0x80))'),
}
"""These need CANARY and print nothing: whoever runs them looks at the file afterwards (`known_of`)."""
