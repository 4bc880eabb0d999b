"""Attacks by an answer to 05.4, which is judged in one process with its criteria.

Each would gain points without an answer, were it run. The judge reads them and runs none.
"""

KEEP = "def keep_in_float32(model):\n    pass\n"
VERDICT = '{"outcome": "passed", "unmet": [], "details": []}'

ALL = {
    "a check of its own": "import course_utils.checks.checking as c\nc.check = lambda *a: None",
    "a check of its own, as a name": "from course_utils.checks import checking\n"
    "checking.check = print",
    "the course as a whole": "import course_utils\ncourse_utils.checks.checking.check = print",
    "the lesson's exercises": "from course_utils.exercises.lesson_05 import keep",
    "the socket among all objects": f"import gc\nfor o in gc.get_objects(): o.send({VERDICT!r})",
    "the socket by its number": "import os\nos.write(5, b'passed')",
    "the caller's variables": "import sys\nsys._getframe(3).f_locals['report'] = 1",
    "the caller by an error": "try: 1 / 0\nexcept Exception as e: f = e.__traceback__.tb_frame",
    "the caller by a generator": "g = (x for x in [1])\ng.gi_frame.f_back",
    "modules by torch": "import torch\n"
    "torch.sys.modules['course_utils.checks.checking'].check = print",
    "modules by copy": "import copy\ncopy.sys",
    "sys from torch": "from torch import sys as s",
    "a name put together": "import torch\nm = getattr(torch, 's' + 'ys')",
    "a name put together elsewhere": "import torch\nn = 's' + 'ys'\nm = getattr(torch, n)",
    "a name of pieces": "import torch\nm = getattr(torch, ''.join(['s', 'ys']))",
    "a name by format": "import torch\nm = getattr(torch, f'{\"s\"}ys')",
    "a name backwards": "import torch\nm = getattr(torch, 'sys'[::-1][::-1])",
    "a name of numbers": "import torch\nm = getattr(torch, chr(115) + chr(121) + chr(115))",
    "a name by itemgetter": "from operator import attrgetter\nm = attrgetter('sys')",
    "getattr by another name": "g = getattr",
    "getattr that is handed on": "import functools\nf = functools.partial(getattr, KEEP)",
    "getattr of the builtins": "b = len.__self__",
    "modules of a module": "import collections\ns = collections._sys",
    "modules of a module, as self": "import collections\nself = collections\nself._sys",
    "a private name": "import torch\ntorch._dynamo",
    "a private name that is imported": "from collections import _sys",
    "a name cut from another": "t = 'xsys'\nimport torch\nm = getattr(torch, t[1:])",
    "a name cut from another, in a loop": "import torch\nfor n in (t[1:],): getattr(torch, n)",
    "a name in a list that changes": "N = ['a']\nN[0] += 'b'\nfor n in N: getattr(model, n)",
    "a name that begins well": "x = getattr(KEEP, f'mod{1}')",
    "parts of its own": "import torch\ndef named_children(): yield 'sy', 1\n"
    "for n, _ in K.named_children(): getattr(torch, n)",
    "an attribute by a pattern": "match KEEP:\n    case object(__globals__=g): pass",
    "timed, and no Python": "%%time\n%run x.py",
    "all classes": "().__class__.__base__.__subclasses__()",
    "the function's globals": f"{KEEP}keep_in_float32.__globals__['x'] = 1",
    "the function's code": f"{KEEP}keep_in_float32.__code__ = 1",
    "the builtins": "__builtins__['isinstance'] = lambda *a: True",
    "a text that is run": "eval('1')",
    "a text that is run later": "f = exec",
    "a norm that is 0": "import torch\ntorch.Tensor.norm = lambda *a: 0",
    "a norm that is 0, by another name": "import torch\nT = torch.Tensor\nT.norm = lambda *a: 0",
    "a norm that is 0, by setattr": "import torch\nsetattr(torch.Tensor, 'norm', lambda *a: 0)",
    "a norm that is 0, by type": "import torch\ntype(torch.ones(1)).norm = lambda *a: 0",
    "a class that is imported": "from torch import Tensor as T\nT.norm = lambda *a: 0",
    "a shell's names": "get_ipython().user_ns",
    "pickle by torch": "import torch\ntorch.serialization.pickle",
    "a library of its own": "import torch\ntorch.utils.cpp_extension.load('x', 'x.cpp')",
    "code in C": "import ctypes\nctypes.string_at(0)",
    "a file": "open('/etc/hostname')",
    "what is no Python": "%%bash\ntouch /tmp/x",
}

# What honest answers do, and a review must let through.
HONEST = {
    "timed": f"%%time\n{KEEP}",
    "a name with a part of its own": """
def keep_in_float32(model):
    for layer in model.model.layers:
        for part in ("attention", "feedforward"):
            norm = getattr(layer, f"post_{part}_layernorm")
            norm.register_forward_pre_hook(lambda _, args: (args[0].float(),))
            print(f"{part} done", "a" + "b")
""",
    "a mark of its own": """
def keep_in_float32(model):
    for name, module in model.named_modules():
        if name.replace(".", "_").endswith("layernorm") and not hasattr(module, "kept"):
            setattr(module, "kept", True)
""",
    "private parts of its own": """
from torch import nn
class Wide(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self._inner = inner
    def forward(self, x):
        return self._inner(x.float())
def keep_in_float32(model):
    model.model.norm = Wide(model.model.norm)
""",
    "a loop over a model's parts": """
def keep_in_float32(model):
    for layer in model.model.layers:
        for name, part in layer.named_children():
            if name.startswith("post_") and part is getattr(layer, name):
                setattr(layer, name, part)
""",
    "a method": "import types\ndef keep(model): model.norm.forward = types.MethodType(KEEP, model)",
}
