"""What a script asks for and gets otherwise: an output folder, a report service, a GPU."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

CUDA = re.compile(r"cuda(:\d+)?")
# Settings of TrainingArguments and its children that need a GPU, and what they are without one.
NEED_GPU = {"fp16": False, "fp16_full_eval": False, "tf32": None, "use_vllm": False}


def has_gpu() -> bool:
    return torch.cuda.is_available()


class OnCpu(TorchFunctionMode):
    """Where a script asks for CUDA, it gets the CPU; `asked` are the things that it asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None):
        if func is torch.get_device_module:  # asks for no tensor; torch's own random state does it
            return func(*args, **(kwargs or {}))
        if func is Tensor.cuda:
            self.note("cuda")
            return args[0]
        kwargs = {name: self._on_cpu(value) for name, value in (kwargs or {}).items()}
        return func(*map(self._on_cpu, args), **kwargs)

    def _on_cpu(self, value: Any) -> Any:
        if not (isinstance(value, str | torch.device) and CUDA.fullmatch(str(value))):
            return value
        self.note("cuda")
        return "cpu"

    def note(self, what: str) -> None:
        if what not in self.asked:
            self.asked.append(what)


def replace_settings(output: Path, cpu: OnCpu | None) -> None:
    """Have every TrainingArguments write into `output`, upload nothing and report to nobody.

    Args:
        cpu: given where there is no GPU: settings that need one are replaced as well.
    """
    if find_spec("transformers") is None:
        return
    from transformers import TrainingArguments

    finish = TrainingArguments.__post_init__

    def finish_otherwise(args: Any) -> None:
        args.output_dir, args.report_to, args.push_to_hub = str(output), "none", False
        if cpu is not None:
            args.use_cpu = True
            for name, value in NEED_GPU.items():
                if getattr(args, name, None):
                    setattr(args, name, value)
                    cpu.note(f"{name}=True")
        finish(args)

    TrainingArguments.__post_init__ = finish_otherwise
