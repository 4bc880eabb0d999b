"""Runs functions of an installed verl's core_algos.py; started as a script in a child process.

`python verl_reference.py FOLDER INPUTS OUTPUTS`: FOLDER is what `pip install --target` filled, the
other two are torch files. verl's heavy imports are replaced by stubs: the formulas need none.
"""

import importlib
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import torch

STUBBED = ("tensordict", "omegaconf", "ray", "hydra", "codetiming", "flash_attn", "pylatexenc")
# Packages of verl whose __init__ would import all of it; their other files are still found.
BARE = ("verl", "verl.utils", "verl.trainer", "verl.trainer.ppo", "verl.workers")
EMPTY = ("verl.trainer.config", "verl.workers.config", "verl.utils.device")


class Stub:
    """Stands for a class, a decorator factory or a constant that the formulas never use."""

    def __init__(self, *_args, **_kwargs) -> None: ...

    def __call__(self, function):
        return function


class StubFinder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name.split(".")[0] in STUBBED else None

    def create_module(self, spec):
        return make_stub(spec.name)

    def exec_module(self, module) -> None: ...


def make_stub(name: str, path: Path | None = None) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__path__ = [str(path)] if path else []
    # A dunder that is missing must stay missing, or the import system takes the stub for a value.
    module.__getattr__ = lambda attribute: _attribute(name, attribute)
    return module


def _attribute(module: str, name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(f"{module} is a stub and has no {name}")
    return Stub


def load_core_algos(folder: Path):
    sys.meta_path.append(StubFinder())
    for name in (*BARE, *EMPTY):
        path = folder.joinpath(*name.split(".")) if name in BARE else None
        module = sys.modules[name] = make_stub(name, path)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    return importlib.import_module("verl.trainer.ppo.core_algos")


def with_gradient(function, logprob, *args) -> tuple[torch.Tensor, torch.Tensor]:
    logprob = logprob.clone().requires_grad_()
    value = function(logprob, *args)
    value.float().sum().backward()
    return value.detach(), logprob.grad


def main(folder: str, inputs: str, outputs: str) -> None:
    core_algos = load_core_algos(Path(folder))
    given, found = torch.load(inputs), {}
    for kind in given["kinds"]:
        for dtype in (torch.float32, torch.float16):
            pair = given["logprob"].to(dtype), given["ref"].to(dtype)
            found[f"{kind} {dtype}"] = with_gradient(core_algos.kl_penalty, *pair, kind)
    if given["all"]:
        mask = given["mask"]
        found["mean"] = core_algos.verl_F.masked_mean(given["values"], mask)
        args = given["old"], given["logprob"], given["advantages"], mask, 0.2
        found["policy"] = core_algos.compute_policy_loss(*args)
        found["entropy"] = core_algos.verl_F.entropy_from_logits(given["logits"])
        rewards, index = given["rewards"].clone(), given["index"]  # verl writes into its argument
        found["advantage"] = core_algos.compute_grpo_outcome_advantage(rewards, mask, index)[0]
    torch.save(found, outputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
