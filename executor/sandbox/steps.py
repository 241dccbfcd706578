"""The layers of the sandbox, in the order in which they are applied: to the zygote, and to each subprocess.

The order matters where it is noted. `Plan` says which layers are wanted. The host tries the strongest plan first, and
the next one only when no zygote could be started under it. Nothing is skipped silently: a step that fails ends the
process, and what is not in the plan is reported as off (`probe.py`).
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from executor.sandbox import allowed, landlock, namespaces, privileges, root, seccomp
from executor.sandbox.limits import set_limits
from executor.sandbox.namespaces import Users
from executor.values import Limits

_DEVICES = tuple(f"/dev/{name}" for name in ("null", "full", "random", "urandom"))
_COUNTED_DEVICES = (*_DEVICES, "/dev/zero")  # who maps it has memory that is no process's own


@dataclass(frozen=True, slots=True)
class Plan:
    """Which layers to build. `user_namespace` without `namespaces` means nothing."""

    namespaces: bool
    user_namespace: bool
    landlock: bool
    seccomp: bool
    users: Users
    counted: bool = False
    """Whether a cgroup counts all memory of a session, also what is no process's own."""
    libraries: bool = True
    """Whether the zygote imports the data libraries, so that no session has to."""
    listed: bool = False
    """Whether only listed system calls are allowed, beside the filter of the denied."""
    shown: tuple[str, ...] = ()
    """Folders of the host beside the system's that may be read, under the same path."""
    toolchains: tuple[str, ...] = ()
    """Such folders whose programs may be run too, where a subprocess may run any."""

    def describe(self) -> str:
        """In words, for a log."""
        kind = "with a user namespace" if self.user_namespace else "as root"
        return f"namespaces {kind}" if self.namespaces else "no namespaces"

    def to_json(self) -> dict[str, Any]:
        """For the zygote's command line."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """What `to_json` wrote."""
        folders = {name: tuple(data[name]) for name in ("shown", "toolchains")}
        return cls(**data | folders | {"users": Users(**data["users"])})

    @property
    def read_only(self) -> tuple[str, ...]:
        """All folders of the host beside the system's."""
        return (*self.shown, *self.toolchains)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a subprocess stands: its number, its limits, its workspace and its scratch folder."""

    session: int
    limits: Limits
    workspace: str
    scratch: str
    execute: bool = False
    """Whether programs of the read-only system folders may be run (bash), or none at all (Python)."""
    beside: int | None = None
    """The mount namespace of the subprocess whose workspace this one is to share."""
    listen: Callable[[int], object] = os.close
    """Takes the descriptor at which refused calls are told."""
    proc: int = -1
    """Its folder in /proc, open while the layers are applied: a host that masks its /proc leaves it an empty one."""


def isolate_zygote(plan: Plan, cache: int) -> int | None:
    """Apply the layers to this process. Returns the descriptor of its pid namespace, None without namespaces.

    `cache` is the open folder that it may write. Its path is not asked for: the memory of this process is inherited.

    With namespaces the caller continues in a child that is pid 1 of a new pid namespace; the process that called waits
    for it and ends with it.
    """
    if not plan.namespaces:
        return None
    os.fchdir(cache)  # the kernel takes this folder, and no descriptor, along into a new mount namespace
    if plan.users.one_each and plan.user_namespace:
        _give_to(".", plan.users.outside)
    if plan.user_namespace:
        namespaces.enter(plan.users)
    else:
        namespaces.enter_as_root()
    _continue_in_child()
    sources = root.open_sources(
        ".", plan.read_only
    )  # still as the user that started this, who may reach more than the next
    if plan.users.one_each and plan.user_namespace:
        privileges.become_user(plan.users.inside)  # who has this namespace's powers, and none over the host
    socket.sethostname("threadbook")  # the host's own name is nobody's business
    root.build(sources)
    return namespaces.open_own_pid_namespace()


def isolate_session(plan: Plan, ground: Ground) -> tuple[dict[str, str], int | None]:
    """Apply the layers to a fresh fork of the zygote. Returns layer → what it is, and its mount namespace, if it has
    one: whoever shares its workspace needs that (`Ground.beside`)."""
    built: dict[str, str] = {}
    proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for layer, step in _session_steps(plan):
            built[layer] = step(plan, replace(ground, proc=proc))
        mounts = namespaces.open_mount_namespace(proc) if plan.namespaces else None
    finally:
        os.close(proc)
    return built, mounts


_Step = Callable[[Plan, Ground], str]


def _session_steps(plan: Plan) -> Sequence[tuple[str, _Step]]:
    steps: list[tuple[str, _Step]] = []
    if plan.namespaces:
        steps += [("namespaces", _namespaces), ("private root", _folders)]
    steps += [
        ("identity", _identity),  # before the capabilities go: changing uid needs them
        ("no capabilities", _capabilities),
        ("resource limits", _limits),  # after the identity: processes are counted per uid
    ]
    if plan.landlock:
        steps.append(("landlock", _landlock))
    if plan.seccomp and plan.listed:
        steps.append(("allow-list", _allow_list))  # before the next one, whose answers are to count
    if plan.seccomp:
        steps.append(("seccomp", _seccomp))  # last: it refuses what the others need
    return steps


def _namespaces(plan: Plan, ground: Ground) -> str:
    namespaces.enter_session()
    return ("user, " if plan.user_namespace else "") + "mount, pid, network, ipc, uts, cgroup"


def _folders(plan: Plan, ground: Ground) -> str:
    limits = ground.limits
    shared = None
    if ground.beside is not None:
        shared = namespaces.copy_mount_of(ground.beside, root.WORKSPACE, ground.proc)
        os.close(ground.beside)
    user = plan.users.of(ground.session)
    proc = root.add_private_folders(limits.workspace_mb, limits.workspace_files, user, shared, plan.read_only)
    whose = "own workspace" if shared is None else "the thread's workspace"
    return f"read-only system, own /tmp and /dev/shm, {whose}; /proc: {proc}"


def _identity(plan: Plan, ground: Ground) -> str:
    privileges.drop_bounding_set()
    if plan.users.one_each:
        privileges.become_user(plan.users.of(ground.session))
        return "a uid of its own"
    if plan.namespaces:
        namespaces.enter_own_user_namespace(ground.proc)
        privileges.drop_bounding_set()  # a new user namespace comes with a full one
        return "the service's uid, in a user namespace of its own"
    with contextlib.suppress(OSError):  # a root without this capability: the watcher alone counts (resource_monitor)
        if os.geteuid() == 0:
            privileges.be_counted_as(namespaces.plan_users(user_namespace=False).of(ground.session))
    return "the service's uid"


def _capabilities(plan: Plan, ground: Ground) -> str:
    privileges.drop_capabilities()
    privileges.allow_no_new_privileges()
    return "none, and none to gain"


def _limits(plan: Plan, ground: Ground) -> str:
    set_limits(ground.limits, ground.proc, own_count=plan.namespaces or os.getuid() != os.geteuid())
    return "memory, processes, files, descriptors"


def _landlock(plan: Plan, ground: Ground) -> str:
    private = ["/proc", "/etc"] if plan.namespaces else []
    shared = ["/tmp", "/dev/shm"] if plan.namespaces else []  # noqa: S108  private ones
    return landlock.restrict(
        [*root.system_paths(), *plan.read_only, *private],
        [ground.workspace, ground.scratch, *shared],
        _COUNTED_DEVICES if plan.counted else _DEVICES,
        execute=(*root.system_paths(), *plan.toolchains) if ground.execute else (),
        # a compiler makes its files in one folder and moves them to another; where nothing is collected, it may
        move=(ground.scratch, *shared) if ground.execute else (),
    )


def _allow_list(plan: Plan, ground: Ground) -> str:
    return allowed.install(ground.listen)


def _seccomp(plan: Plan, ground: Ground) -> str:
    privileges.hide_memory()
    return seccomp.install(execute=ground.execute, counted=plan.counted, own_root=plan.namespaces)


def _continue_in_child() -> None:
    """Fork; the parent waits and ends as the child ended. Only a child is in the new pid namespace."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0x7F)


def _give_to(folder: str, user: int) -> None:
    for path in (folder, *(entry.path for entry in os.scandir(folder))):
        os.chown(path, user, user, follow_symlinks=False)


def plans(
    without: frozenset[str] = frozenset(),
    *,
    counted: bool = False,
    listed: bool = False,
    shown: tuple[str, ...] = (),
    toolchains: tuple[str, ...] = (),
) -> list[Plan]:
    """The plans worth trying here, the strongest first. `counted` says whether there are cgroups for sessions, `listed`
    whether only listed system calls are allowed.

    `without` names layers that are to be left out; "libraries" leaves out what the zygote imports. `shown` are folders
    that sessions may read, `toolchains` those whose programs a shell may run too.
    """
    libraries = "libraries" not in without
    has_landlock = "landlock" not in without and landlock.version() > 0
    has_seccomp = "seccomp" not in without and seccomp.available()
    rest = (counted, libraries, listed, shown, toolchains)
    found = []
    if "namespaces" not in without:
        kinds = [True] if "user namespace" not in without else []
        kinds += [False] if os.geteuid() == 0 else []
        for user_namespace in kinds:
            users = namespaces.plan_users(user_namespace=user_namespace)
            if user_namespace or users.one_each:
                found.append(Plan(True, user_namespace, has_landlock, has_seccomp, users, *rest))
    me = os.geteuid()
    return [*found, Plan(False, False, has_landlock, has_seccomp, Users(me, me, 1), *rest)]
