"""What an answer to 05.4, which is judged in one process with its criteria, may reach for.

Each would gain points without an answer, were it run. The judge reads them and runs none.
"""

KEEP = "def keep_in_float32(model):\n    pass\n"
VERDICT = '{"outcome": "passed", "unmet": [], "details": []}'

ALL = {
    "a check of its own": "import course_utils.checking as c\nc.check = lambda *a: None",
    "a check of its own, as a name": "from course_utils import checking\nchecking.check = print",
    "the course as a whole": "import course_utils\ncourse_utils.checking.check = print",
    "the lesson's exercises": "from course_utils.exercises.lesson_05 import keep",
    "the socket among all objects": f"import gc\nfor o in gc.get_objects(): o.send({VERDICT!r})",
    "the socket by its number": "import os\nos.write(5, b'passed')",
    "the caller's variables": "import sys\nsys._getframe(3).f_locals['report'] = 1",
    "the caller by an error": "try: 1 / 0\nexcept Exception as e: f = e.__traceback__.tb_frame",
    "the caller by a generator": "g = (x for x in [1])\ng.gi_frame.f_back",
    "modules by torch": "import torch\ntorch.sys.modules['course_utils.checking'].check = print",
    "modules by copy": "import copy\ncopy.sys",
    "sys from torch": "from torch import sys as s",
    "a name put together": "import torch\nm = getattr(torch, 's' + 'ys')",
    "a name put together elsewhere": "import torch\nn = 's' + 'ys'\nm = getattr(torch, n)",
    "a name of pieces": "import torch\nm = getattr(torch, ''.join(['s', 'ys']))",
    "a name by format": "import torch\nm = getattr(torch, f'{\"s\"}ys')",
    "a name backwards": "import torch\nm = getattr(torch, 'sys'[::-1][::-1])",
    "a name of numbers": "import torch\nm = getattr(torch, chr(115) + chr(121) + chr(115))",
    "a name by itemgetter": "from operator import attrgetter\nm = attrgetter('sys')",
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
