"""What an answer to exercise 00.1 may try on the wire, the interpreter and the kernel, as data.

As in `answers`: `worked` is true where an attack has reached what it wants, and only then is the
answer right. Those that lie to the judge give a wrong answer, and hope.
"""

from attacks.answers import Attack, calls, found, returns

VALUES = (
    "import course_utils.grading.judge.values as v, course_utils.grading.judge.values_in as g\n"
)
CALL = "import course_utils.grading.judge.recorded_call as c\n"
WIRE = "import course_utils.grading.judge.wire as w, course_utils.grading.judge.student as s\n"
WRONG = "\ndef mean_of(a, b): return a"
SYSCALL = "import ctypes\ncall = ctypes.CDLL(None, use_errno=True).syscall"


def says(name: str, value: str) -> Attack:
    """A worker whose results all say `value`, whatever the answer gives."""
    return Attack(name, f"{VALUES}import json\ng.Results.encode = lambda *_: {value}{WRONG}")


def tells(name: str, entries: str) -> Attack:
    """A worker that tells of changes that were none."""
    return Attack(name, f"{CALL}c.Call.changes = lambda self, encoder: {entries}{WRONG}")


SAYING = (
    says("says: a fraction that fills the memory", "{'is': 'Fraction', 'text': '1e999999999'}"),
    says("says: a decimal that fills the memory", "{'is': 'Decimal', 'text': '1e999999999'}"),
    says(
        "says: a set whose numbers all collide",
        "{'is': 'set', 'of': [n * (2**61 - 1) for n in range(150_000)]}",
    ),
    says("says: a set of lists", "{'is': 'set', 'of': [{'is': 'list', 'of': []}]}"),
    says("says: a tensor that was not sent", "{'is': 'tensor', 'at': 7}"),
    says("says: a tensor by a negative number", "{'is': 'tensor', 'at': -1}"),
    says("says: an output of a graph that is none", "{'is': 'tensor', 'at': 0, 'out': 0}"),
    says("says: the first argument", "{'is': 'argument', 'at': 0}"),
    says("says: an alias of an argument", "{'is': 'alias', 'at': 1}"),
    says("says: a module that was not given", "{'is': 'module', 'at': 0}"),
    says("says: a callback", "{'is': 'callback', 'id': 0}"),
    says("says: a folder", "{'is': 'folder', 'name': '/etc', 'files': {}}"),
    says("says: TODO", "{'is': 'todo'}"),
    says(
        "says: an object with the name of a tensor",
        "{'is': 'object', 'type': 'Tensor', 'text': ''}",
    ),
    says("says: a type name of zeros", "{'is': 'object', 'type': '\\0' * 9999, 'text': '\\ud800'}"),
    says("says: a list 90 deep", 'json.loads(\'{"is": "list", "of": [\' * 90 + \']}\' * 90)'),
    says("says: a number of 5,000 digits", "10**4200"),
    says("says: a dict without pairs", "{'is': 'dict', 'of': [1, 2]}"),
    says("says: nothing of a known kind", "{'is': {'is': []}}"),
)
TELLING = (
    tells("tells: the arguments are 0 now", "{'changed': [[0, 0], [1, 0]], 'grads': []}"),
    tells("tells: an argument that is not there", "{'changed': [[99, 0]], 'grads': []}"),
    tells("tells: a state without modules", "{'changed': [], 'grads': [], 'state': {}}"),
    tells("tells: gradients of no tensor", "{'changed': [], 'grads': [[0, None], [0, 5]]}"),
    tells("tells: files elsewhere", "{'changed': [], 'folders': {'/etc': {'passwd': 0}}}"),
    tells("tells: random numbers that are none", "{'changed': [], 'rng': 0}"),
    tells("tells: graphs without end", "{'changed': [], 'outputs': [0] * 10**5}"),
)
REPLACING = (
    Attack("json replaced", f"import json\njson.dumps = lambda *a, **k: '{{\"score\": 1}}'{WRONG}"),
    Attack(
        "struct replaced", f"{WIRE}w.HEADER = type('H', (), dict(pack=lambda *a: b''))(){WRONG}"
    ),
    Attack("safetensors replaced", f"{WIRE}w.save = lambda kept: b'x' * 99{WRONG}"),
    Attack(
        "the socket's class replaced",
        f"import socket\nsocket.socket.sendall = lambda self, data: None{WRONG}",
    ),
    Attack(
        "a reply to every question twice",
        f"{WIRE}old = s.send\ns.send = lambda *a: (old(*a), old(*a)){WRONG}",
    ),
    Attack(
        "questions that nobody asked for",
        f"{WIRE}\ndef mean_of(a, b):\n    import gc\n"
        "    [one] = [o for o in gc.get_objects() if isinstance(o, s.Student)]\n"
        "    return one.callback(0)(1)",
    ),
    Attack(
        "a reply in pieces, without end",
        "import gc, socket, struct, time\ndef mean_of(a, b):\n"
        "    [one] = [o for o in gc.get_objects() if isinstance(o, socket.socket)][:1]\n"
        "    one.sendall(struct.pack('>QQ', 1000, 0))\n"
        "    for _ in range(1000): one.sendall(b' '); time.sleep(1)\n    return a",
    ),
)
INTERPRETER = (
    calls(
        "a thread that goes on writing",
        "import gc, socket, threading\n"
        "def go():\n"
        "    while True:\n"
        "        for o in gc.get_objects():\n"
        "            if isinstance(o, socket.socket): o.sendall(b'{' * 1000)\n"
        "threading.Thread(target=go, daemon=True).start()",
    ),
    Attack(
        "a tracer that changes what is returned",
        f"import sys\nsys.setprofile(lambda f, e, a: f.f_locals.update(saw=None)){WRONG}",
    ),
    Attack(
        "a hook on every import",
        "import sys\nclass Any:\n    def find_spec(self, *a): raise SystemExit\n"
        f"sys.meta_path.insert(0, Any()){WRONG}",
    ),
    Attack("an empty sys.modules", f"import sys\nsys.modules.clear(){WRONG}"),
    Attack(
        "builtins replaced",
        "import builtins\nbuiltins.isinstance = lambda *a: True\n"
        f"builtins.len = lambda *a: 0\nbuiltins.type = lambda *a: int{WRONG}",
    ),
    Attack(
        "a mode over all of torch",
        "import torch\nfrom torch.overrides import TorchFunctionMode\n"
        "class Zero(TorchFunctionMode):\n"
        "    def __torch_function__(self, f, types, args=(), kwargs=None): return torch.zeros(1)\n"
        f"Zero().__enter__(){WRONG}",
    ),
    Attack(
        "a mode under all of torch",
        "import torch\nfrom torch.utils._python_dispatch import TorchDispatchMode\n"
        "class Zero(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, f, types, args=(), kwargs=None): return args[0]\n"
        f"Zero().__enter__(){WRONG}",
    ),
    returns("a tensor on no device", "import torch", "torch.zeros(a.shape, device='meta')"),
    returns("a sparse tensor", "import torch", "torch.zeros(a.shape).to_sparse()"),
    returns(
        "a gradient that does not end",
        "import torch\nclass Endless(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x): return x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        while True: pass\n",
        "Endless.apply(a.float().requires_grad_())",
    ),
    returns(
        "a parameter that is a subclass", "import torch\nclass P(torch.nn.Parameter): pass", "P(a)"
    ),
    returns("a generator", "", "(x for x in [a])"),
    returns("a class", "class Mean: pass", "Mean"),
    returns("a weak reference", "import weakref", "weakref.proxy(mean_of)"),
    calls("a group of errors", "raise ExceptionGroup('e', [ValueError(), KeyError()])"),
    calls("an error of a million arguments", "raise ValueError(*range(10**6))"),
    calls("an error that needs five arguments", "raise UnicodeDecodeError('u', b'', 0, 1, 'r')"),
)
KERNEL = (
    found("the memory of a process", "worked = bool(open('/proc/self/mem', 'rb'))"),
    found("what process 1 was told", "worked = bool(open('/proc/1/cmdline', 'rb').read())"),
    found("the kernel's messages", "worked = bool(open('/dev/kmsg', 'rb').read(1))"),
    found("a device of its own", "import os\nos.mknod('/tmp/null', 0o20666, 259)\nworked = True"),
    found(
        "a link to what is outside",
        "import os\nos.symlink('{canary}/secret', '/tmp/link')\n"
        "worked = bool(open('/tmp/link').read())",
    ),
    found("a process by its number", f"{SYSCALL}\nworked = call(57) > 0"),
    found("a process by clone", f"{SYSCALL}\nworked = call(56, 17, 0, 0, 0, 0) > 0"),
    found("a process by clone3", f"{SYSCALL}\nworked = call(435, bytes(88), 88) > 0"),
    found("a process in the other numbering", f"{SYSCALL}\nworked = call(0x40000000 + 57) > 0"),
    found(
        "a process by the 32-bit entry",
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(bytes.fromhex('b802000000cd80c3'))  # mov eax, fork; int 0x80; ret\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "worked = ctypes.CFUNCTYPE(ctypes.c_long)(at)() > 0",
    ),
    found("a ring of requests", f"{SYSCALL}\nworked = call(425, 8, bytes(120)) > 0"),
    found("a file by its handle", f"{SYSCALL}\nworked = call(304, -100, bytes(64), 0) > 0"),
    found("keys of the kernel", f"{SYSCALL}\nworked = call(250, 0, -3, 1) > 0"),
    found("another process's descriptor", f"{SYSCALL}\nworked = call(438, 3, 1, 0) >= 0"),
    found(
        "descriptors that were left open",
        "import os\nopen_ones = []\n"
        "for fd in range(3, 1024):\n"
        "    try: open_ones.append(os.fstat(fd).st_mode)\n    except OSError: pass\n"
        "worked = len(open_ones) > 1  # its own socket is one",
    ),
    found(
        "signals to every number",
        "import os\nfor pid in range(2, 4000):\n"
        "    try:\n        os.kill(pid, 9)\n        worked = True\n    except OSError: pass",
    ),
    found("a limit of the system", "open('/proc/sys/kernel/pid_max', 'w')\nworked = True"),
    found(
        "a setuid program",
        "import os\nopen('/tmp/x', 'w')\nos.chmod('/tmp/x', 0o4755)\n"
        "worked = bool(os.statvfs('/tmp').f_flag & 2 == 0)",
    ),
)

BY_AIM = {
    "lies about values": SAYING,
    "lies about what a call did": TELLING,
    "the modules that the worker speaks with": REPLACING,
    "the interpreter": INTERPRETER,
    "the kernel": KERNEL,
}
