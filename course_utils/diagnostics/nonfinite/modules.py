"""Tracks which module is running: its dotted name, as in model.named_modules().

Learns the names of any model the first time its forward is called, so it needs no list.
"""

from torch import Tensor, nn
from torch.nn.modules import module as hooks

from course_utils.diagnostics.libraries.pytorch import without_compile
from course_utils.diagnostics.nonfinite.values import address_of


class ModuleNames:
    """A stack of the modules whose forward is running, while entered."""

    def __init__(self, roots: dict[str, nn.Module]):
        self.roots: list[nn.Module] = []
        self._names: dict[int, str] = {}
        self._stack: list[nn.Module] = []
        for prefix, root in roots.items():
            self._learn(root, prefix)

    def __enter__(self) -> "ModuleNames":
        self._handles = [
            hooks.register_module_forward_pre_hook(self._push),
            hooks.register_module_forward_hook(self._pop, always_call=True),
        ]
        return self

    def __exit__(self, *_exc) -> None:
        for handle in self._handles:
            handle.remove()
        self._stack.clear()

    @property
    def current(self) -> str:
        """The innermost running module; "" outside any."""
        return self._names[id(self._stack[-1])] if self._stack else ""

    @property
    def is_running(self) -> bool:
        return bool(self._stack)

    def named_tensors(self) -> dict[int, tuple[str, str]]:
        """Storage address -> (kind, dotted name) of every parameter and buffer known so far."""
        tensors = {}
        for root in self.roots:
            for name, buffer in root.named_buffers():
                tensors[address_of(buffer)] = ("a buffer", self._full(root, name))
            for name, parameter in root.named_parameters():
                tensors[address_of(parameter)] = ("the weights", self._full(root, name))
        return tensors

    def named_parameters(self) -> dict[Tensor, str]:
        """Every parameter with its dotted name."""
        return {
            parameter: self._full(root, name)
            for root in self.roots
            for name, parameter in root.named_parameters()
        }

    def trainable_parameters(self) -> dict[Tensor, str]:
        """Those that require a gradient."""
        return {p: name for p, name in self.named_parameters().items() if p.requires_grad}

    def _full(self, root: nn.Module, name: str) -> str:
        prefix = self._names[id(root)]
        return f"{prefix}.{name}" if prefix else name

    def _learn(self, root: nn.Module, prefix: str) -> None:
        if id(root) in self._names:
            return
        self.roots.append(root)  # keeps it alive, so that no id is used twice
        for name, module in root.named_modules(prefix=prefix):
            self._names.setdefault(id(module), name)

    def _push(self, module: nn.Module, _args) -> None:
        module = without_compile(module)  # the wrapper has no name
        if id(module) not in self._names:
            self._learn(module, type(module).__name__ if self.roots else "")
        self._stack.append(module)

    def _pop(self, _module: nn.Module, _args, _output) -> None:
        self._stack.pop()
