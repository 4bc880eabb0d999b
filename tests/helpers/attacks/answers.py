"""What an answer to exercise 00.1 may try, as data: each gets no point and leaves nothing.

`worked` is true where an attack has reached what it wants; the answer is right only then. So a
point is the proof that an attack has worked.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """The source of an answer cell; `{canary}` and `{port}` are filled in."""

    name: str
    source: str


def found(name: str, source: str) -> Attack:
    """An attack that sets `worked`, or raises."""
    lines = "\n".join(f"    {line}" for line in source.strip().splitlines())
    return Attack(name, f"worked = False\ntry:\n{lines}\nexcept Exception:\n    pass\n{ANSWER}")


def returns(name: str, source: str, result: str) -> Attack:
    """An attack by what the answer gives back."""
    return Attack(name, f"{source.strip()}\ndef mean_of(a, b):\n    return {result}\n")


def calls(name: str, source: str) -> Attack:
    """An attack while the judge calls the answer, which is wrong."""
    lines = "\n".join(f"    {line}" for line in source.strip().splitlines())
    return Attack(name, f"def mean_of(a, b):\n{lines}\n    return a\n")


ANSWER = """
def mean_of(a, b):
    return ((a.double() + b.double()) / 2).to(a.dtype) if worked else a
"""
HONEST = Attack("honest", f"worked = True\n{ANSWER}")

LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)"

TAKING = (
    Attack("the exercise's own answer", "mean_of = ex.MEAN.answer"),
    found(
        "the solution after all hints",
        """
import contextlib, io
out = io.StringIO()
with contextlib.redirect_stdout(out):
    for _ in range(9):
        ex.MEAN.hint()
    ex.MEAN.solution()
worked = "return" in out.getvalue()
""",
    ),
    found("importing the exercise", "import course_utils.exercises.lesson_00\nworked = True"),
    found("finding the lesson", "from course_utils.exercises import find_lesson\nworked = True"),
    found(
        "reading its source beside the library",
        """
import pathlib, course_utils
root = pathlib.Path(course_utils.__file__).parent
worked = any(root.glob("exercises/lesson_*"))
""",
    ),
    found(
        "reading the solutions",
        """
import os
for root, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if f not in ("sys", "site-packages")]
    answers = [f for f in files if root.endswith("exercises") and "lesson_" in f]
    worked = worked or bool(answers) or any("00_start_here" in f for f in files)
""",
    ),
    found(
        "an installed course",
        """
import sysconfig, pathlib
here = pathlib.Path(sysconfig.get_path("purelib")) / "course_utils"
worked = here.exists() and any(here.iterdir())
""",
    ),
    found(
        "exercises in memory",
        """
import gc
worked = any(type(o).__name__ in ("Exercise", "Criterion", "Lesson") for o in gc.get_objects())
""",
    ),
    found(
        "exercises in frames",
        """
import sys
frame = sys._getframe()
while frame is not None:
    worked = worked or any("criteri" in k or k == "exercise" for k in frame.f_locals)
    frame = frame.f_back
""",
    ),
    found(
        "exercises in sys.modules",
        """
import sys
worked = any(n.startswith("course_utils.exercises.lesson") for n in sys.modules)
""",
    ),
    found(
        "a check that can be patched",
        "import course_utils.lesson as l\nworked = hasattr(l, 'checking')",
    ),
)
FORGING = (
    Attack(
        "a check of its own",
        "import course_utils.checks.checking as c\n"
        "c.check = lambda *a: type('R', (), dict(points=9))()\n"
        "ex.MEAN.check = lambda answer: None\ndef mean_of(a, b): return a",
    ),
    Attack(
        "a score written to every descriptor",
        "import json, os, struct\n"
        "text = json.dumps({'score': {'exercise': '00.1', 'outcome': 'passed', 'unmet': [],"
        " 'details': []}}).encode()\n"
        "for fd in range(64):\n"
        "    for head in (struct.pack('>I', len(text)), struct.pack('>QQ', len(text), 0)):\n"
        "        try: os.write(fd, head + text)\n"
        "        except OSError: pass\n"
        "def mean_of(a, b): return a",
    ),
    Attack(
        "messages of its own",
        "import sys\nfor m in list(sys.modules.values()):\n"
        "    if hasattr(m, 'HEADER') and hasattr(m, 'send'):\n"
        "        m.send = lambda *a: None\n"
        "def mean_of(a, b): return a",
    ),
    Attack(
        "a reply that promises 2**63 bytes",
        "import gc, socket, struct\n"
        "def mean_of(a, b):\n"
        "    for o in gc.get_objects():\n"
        "        if isinstance(o, socket.socket): o.sendall(struct.pack('>QQ', 2**63, 2**63))\n"
        "    return a",
    ),
    Attack(
        "a reply that is no JSON",
        "import gc, socket, struct\n"
        "def mean_of(a, b):\n"
        "    for o in gc.get_objects():\n"
        "        if isinstance(o, socket.socket): o.sendall(struct.pack('>QQ', 4, 0) + b'}}}}')\n"
        "    return a",
    ),
    Attack(
        "tensors that are none",
        "import gc, socket, struct, json\n"
        "def mean_of(a, b):\n"
        "    head = json.dumps({'0': {'dtype': 'F32', 'shape': [2**40], 'data_offsets': [0, 4]}})\n"
        "    body = struct.pack('<Q', len(head)) + head.encode() + b'0000'\n"
        "    text = json.dumps({'value': {'is': 'tensor', 'at': 0}}).encode()\n"
        "    for o in gc.get_objects():\n"
        "        if isinstance(o, socket.socket):\n"
        "            o.sendall(struct.pack('>QQ', len(text), len(body)) + text + body)\n"
        "    return a",
    ),
    returns(
        "a tensor that lies about comparisons",
        "import torch\nclass Liar(torch.Tensor):\n"
        "    def __eq__(self, other): return torch.ones(self.shape, dtype=torch.bool)\n"
        "    __le__ = __sub__ = __eq__\n"
        "    @classmethod\n"
        "    def __torch_function__(cls, f, types, args=(), kwargs=None): return torch.zeros(())",
        "a.as_subclass(Liar)",
    ),
    returns(
        "an object that claims to be a tensor",
        "import torch\nclass Fake:\n    __class__ = torch.Tensor\n"
        "    dtype, shape = torch.float16, (1,)\n"
        "    def __getattr__(self, name): return lambda *a, **k: self\n"
        "    def __eq__(self, other): return True",
        "Fake()",
    ),
    returns(
        "a tuple that equals everything",
        "class Same(tuple):\n    def __eq__(self, other): return True\n"
        "    __hash__ = tuple.__hash__",
        "Same()",
    ),
    returns(
        "an object that unpickles itself",
        "import os\nclass Bomb:\n"
        "    def __reduce__(self): return os.system, ('touch {canary}/bomb',)",
        "Bomb()",
    ),
    Attack(
        "torch's operators replaced",
        "import torch\ntorch.Tensor.__sub__ = lambda s, o: torch.zeros_like(s)\n"
        "torch.Tensor.abs = lambda s: s * 0\ntorch.Tensor.any = lambda s, *a: torch.tensor(False)\n"
        "def mean_of(a, b): return a",
    ),
    calls("the judge's inputs made easy", "a.zero_(); b.zero_()"),
    calls("the same, past version counters", "a.data.numpy()[...] = 0; b.data.numpy()[...] = 0"),
    calls(
        "an error of the judge's own kind",
        "class NotAttempted(Exception): pass\nraise NotAttempted",
    ),
    calls(
        "a time limit of its own",
        "class TimeLimitReached(BaseException): pass\nraise TimeLimitReached",
    ),
    calls("the end of a generator", "raise StopIteration"),
    calls("an interrupt", "raise KeyboardInterrupt"),
    calls("an exit", "raise SystemExit(0)"),
    calls(
        "an error that cannot show itself",
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
    ),
    returns("a list 100,000 deep", "deep = []\nfor _ in range(100_000): deep = [deep]", "deep"),
    returns("a number of a million digits", "n = 10 ** 1_000_000", "n"),
    returns("half a character", "", "chr(0xd800)"),
    returns(
        "a tensor that is one number, 2**40 times", "import torch", "torch.zeros(1).expand(2**40)"
    ),
    returns("itself", "", "mean_of"),
    Attack(
        "an answer that is no function",
        "class M:\n    def __call__(s, a, b): return a\nmean_of = M()",
    ),
    Attack(
        "a name that is no name",
        "def mean_of(a, b): return a\nmean_of.__name__ = '\\x1b[31m\\x00' * 9999",
    ),
)
EXHAUSTING = (
    Attack("an exit in the cell", "import os\nos._exit(0)"),
    calls("an exit in the call", "import os\nos._exit(0)"),
    calls("a signal to itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    Attack("a null pointer", "import ctypes\nctypes.string_at(0)"),
    Attack("a cell without end", "while True: pass"),
    calls("a call without end", "while True: pass"),
    calls(
        "a wait without end",
        "import time\nwhile True:\n    try: time.sleep(1e6)\n    except BaseException: pass",
    ),
    found(
        "a fork bomb",
        "import os\nfor _ in range(50):\n    if os.fork() == 0: os._exit(0)\n    worked = True",
    ),
    Attack(
        "threads without end",
        "import threading\ntry:\n"
        "    while True: threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "except RuntimeError: pass\ndef mean_of(a, b): return a",
    ),
    found("16 GB of memory", "kept = [bytearray(2**28) for _ in range(64)]\nworked = True"),
    found(
        "16 GB of shared memory",
        "import mmap\nkept = [mmap.mmap(-1, 2**28) for _ in range(64)]\nworked = True",
    ),
    found("a file in memory", "import os\nos.memfd_create('x')\nworked = True"),
    found(
        "a disk full",
        "with open('/tmp/large', 'wb') as f:\n"
        "    for _ in range(300): f.write(bytes(2**20))\nworked = True",
    ),
    Attack(
        "prints without end",
        "for _ in range(10**5): print('x' * 1000)\ndef mean_of(a, b): return a",
    ),
    calls("prints in every call", "print('x' * 10**7)"),
)
LEAVING = (
    found("a file in the grader's home", "open('{canary}/mine', 'w').close()\nworked = True"),
    found("a file of the grader's, read", "worked = open('{canary}/secret').read() == 'secret'"),
    found(
        "the library changed",
        "import course_utils, pathlib\n"
        "(pathlib.Path(course_utils.__file__).parent / 'mine.py').write_text('')\nworked = True",
    ),
    found(
        "packages changed",
        "import sysconfig, pathlib\n"
        "(pathlib.Path(sysconfig.get_path('purelib')) / 'mine.pth').write_text('')\nworked = True",
    ),
    found("a file in the root folder", "open('/mine', 'w').close()\nworked = True"),
    found("shared memory by name", "open('/dev/shm/mine', 'w').close()\nworked = True"),
    found(
        "something for the next student",
        "import pathlib\nold = pathlib.Path('/tmp/from-before')\nworked = old.exists()\n"
        "old.touch()",
    ),
    found(
        "what the one before has left",
        "import pathlib\nold = pathlib.Path('/tmp/from-before')\nworked = old.exists()\n"
        "old.touch()",
    ),
    found("the grader's environment", "import os\nworked = 'GRADER_SECRET' in os.environ"),
    found(
        "the environment of others",
        "import pathlib\n"
        "found = pathlib.Path('/proc').glob('[0-9]*/environ')\n"
        "worked = any(b'GRADER_SECRET' in path.read_bytes() for path in found)",
    ),
    found(
        "processes of others", "import pathlib\nworked = any(pathlib.Path('/proc').glob('[0-9]*'))"
    ),
    found(
        "the network",
        "import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\nworked = True",
    ),
    found("a socket at all", "import socket\nsocket.socket()\nworked = True"),
    found(
        "a name looked up", "import socket\nsocket.getaddrinfo('example.org', 80)\nworked = True"
    ),
    found("a program", "import subprocess\nsubprocess.run(['true'])\nworked = True"),
    found(
        "a program that stays",
        "import subprocess\nsubprocess.Popen(['sleep', '987'])\nworked = True",
    ),
    found(
        "another program in its place",
        "import os\nif os.path.exists('/bin/true'): os.execv('/bin/true', ['true'])",
    ),
    Attack("all processes ended", "import os\nos.kill(-1, 9)\ndef mean_of(a, b): return a"),
    Attack("its parent ended", "import os\nos.kill(os.getppid(), 9)\ndef mean_of(a, b): return a"),
    Attack(
        "work at the end",
        "import atexit\natexit.register(open, '{canary}/end', 'w')\ndef mean_of(a, b): return a",
    ),
)
KERNEL = (
    found("new namespaces", f"{LIBC}\nworked = libc.unshare(0x10000000) == 0"),
    found("a mount", f"{LIBC}\nworked = libc.mount(b'tmpfs', b'/mnt', b'tmpfs', 0, None) == 0"),
    found("another root", f"{LIBC}\nworked = libc.chroot(b'/tmp') == 0"),
    found("a process traced", f"{LIBC}\nworked = libc.ptrace(16, 1, 0, 0) == 0"),
    found(
        "limits raised",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nworked = True",
    ),
    found("rights regained", f"{LIBC}\nworked = libc.setuid(1) == 0 and libc.getuid() == 1"),
)

BY_AIM = {
    "taking the answer from where it is kept": TAKING,
    "forging the verdict": FORGING,
    "ending and exhausting": EXHAUSTING,
    "leaving traces": LEAVING,
    "the kernel": KERNEL,
}
