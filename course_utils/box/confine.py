"""The inner wall: a forked process gives up its rights, and keeps what it has in memory.

Linux only. It runs after a fork and before any of the student's code; there is no way back.
"""

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
PR_SET_DUMPABLE = 4
SCRATCH = "/scratch"


@dataclass(frozen=True)
class Bounds:
    """What one worker may use."""

    memory_mib: int = 1024  # beyond what the warm process holds already
    cpu_s: int = 240
    disk_mib: int = 64  # in memory, gone with the worker
    num_files: int = 256


# System calls that no answer needs, by machine: x86_64, aarch64.
REFUSED = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "socket": (41, 198),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "pidfd_getfd": (438, 438),
}
MACHINES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}
CLONE3, CLONE_THREAD = 435, 0x00010000
X32 = 0x40000000
EPERM, ENOSYS = 1, 38
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def confine(bounds: Bounds, *, walls: bool, hidden: tuple[str, ...] = ()) -> None:
    """Become a bounded process without rights, the first of its own namespaces, or never return.

    Args:
        walls: whether namespaces and the filter of system calls can be had; else only bounds.
        hidden: folders that are empty from here on.

    Raises:
        OSError: the kernel refuses; the caller must not go on.
    """
    if walls:
        _own_namespaces()
    os.setsid()  # kill(0) reaches a whole group, also across namespaces
    end_with_parent()
    if walls:
        _own_files(bounds, hidden)
    set_limits(bounds)
    if walls:
        _give_up_rights()
        _filter_system_calls()


def end_with_parent() -> None:
    """Let the kernel end this process when the process that forked it has ended."""
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _own_namespaces() -> None:
    """Enter new namespaces for users, processes, mounts, network and messages, as process 1."""
    user, group = os.getuid(), os.getgid()
    _check(LIBC.unshare(NEW_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    first = os.fork()
    if first:
        _wait_for(first)


def _wait_for(first: int) -> None:
    """Wait outside: when the first process is ended, all others end with it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _, status = os.waitpid(first, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _own_files(bounds: Bounds, hidden: tuple[str, ...]) -> None:
    """A scratch folder in memory, and no readable information about any process."""
    private, nosuid_nodev = 0x4000 | 0x40000, 0x2 | 0x4
    _check(LIBC.mount(None, b"/", None, private, None), "make mounts private")
    size = f"size={bounds.disk_mib}m,nr_inodes=4096,mode=700".encode()
    _check(LIBC.mount(b"tmpfs", SCRATCH.encode(), b"tmpfs", nosuid_nodev, size), "mount scratch")
    # What lay in /tmp is under the scratch folder by now, and so is out of reach already.
    there = (folder for folder in hidden if Path(folder).exists())
    for folder in ("/proc", *there):
        flags = 0x1 | nosuid_nodev
        _check(LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", flags, b"size=4k"), "hide a folder")
    os.chdir(SCRATCH)


def set_limits(bounds: Bounds) -> None:
    """Bound this process, and what it starts, by the kernel's own counters."""
    room, of_memory = bounds.memory_mib * MIB, {}
    if IN_USE is not None:
        data, mapped = IN_USE
        of_memory = {resource.RLIMIT_DATA: data + room, resource.RLIMIT_AS: mapped + 2 * room}
    limits = of_memory | {
        resource.RLIMIT_CPU: bounds.cpu_s,
        resource.RLIMIT_FSIZE: bounds.disk_mib * MIB,
        resource.RLIMIT_NOFILE: bounds.num_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))


# Bytes of data and of address space that this process held when it was warm.
IN_USE: tuple[int, int] | None = None


def remember_use() -> None:
    """Note the resources that this process holds, before /proc is hidden."""
    global IN_USE
    if sys.platform != "linux":
        return
    status = Path("/proc/self/status").read_text()
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    IN_USE = tuple(1024 * int(sizes[name].split()[0]) for name in ("VmData", "VmSize"))


def _give_up_rights() -> None:
    for capability in range(64):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header, nothing = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0] * 6)
    _check(LIBC.capset(header, nothing), "capset")
    _check(LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "not dumpable")
    _check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_system_calls() -> None:
    instructions = list(_instructions(os.uname().machine))
    code = b"".join(struct.pack("HBBI", *one) for one in instructions)
    program = _Program(len(instructions), code)
    _check(LIBC.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")


def _instructions(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """The filter in BPF: load the architecture, then the number, then compare one by one."""
    if machine not in MACHINES:
        raise OSError(ENOSYS, f"no filter of system calls is known for {machine}")
    column, architecture, clone = MACHINES[machine]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    yield load, 0, 0, 4
    yield equal, 1, 0, architecture
    yield give, 0, 0, KILL
    yield load, 0, 0, 0
    yield at_least, 0, 1, X32
    yield give, 0, 0, ERRNO | ENOSYS
    for number in filter(None, (numbers[column] for numbers in REFUSED.values())):
        yield equal, 0, 1, number
        yield give, 0, 0, ERRNO | EPERM
    yield equal, 0, 1, CLONE3
    yield give, 0, 0, ERRNO | ENOSYS  # libc then calls clone, whose flags can be seen
    yield equal, 0, 3, clone
    yield load, 0, 0, 16
    yield any_bit, 1, 0, CLONE_THREAD
    yield give, 0, 0, ERRNO | EPERM
    yield give, 0, 0, ALLOW


if __name__ == "__main__":  # the probe: ends with 0 where all of it can be had
    remember_use()
    confine(Bounds(), walls=True)
