"""What torch's loss functions were given, beside what the model read and returned in that pass.

Shape letters: N rows of logits, B rows, T tokens, V vocabulary.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course_utils.diagnostics.diagnosis.measures.forward import logits_in
from course_utils.diagnostics.hooks import Hook

NAMES = (
    *("cross_entropy", "nll_loss", "kl_div"),
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
FUNCTIONS = {getattr(F, name): name for name in NAMES}
SOFTMAXES = {
    getattr(home, name): (home, name)
    for home in (F, torch, Tensor)
    for name in ("softmax", "log_softmax")
}
DIFFERENCES = (Tensor.sub, Tensor.__rsub__, torch.sub, torch.rsub)
MOST = 8  # calls that are kept
LENGTHS = ("LinalgVectorNorm", "NormBackward", "CosineSimilarity")  # how nodes of a graph begin
NEAR = 48  # nodes of the graph that are looked at


@dataclass(frozen=True)
class Heard:
    """One call, with the pass that came before it."""

    name: str
    given: Tensor
    target: Tensor
    weight: Tensor | None
    logits: Tensor | None  # (B, T, V), that the model returned
    batch: Mapping[str, Any]  # that it read
    reduction: str = "mean"
    smoothing: float = 0.0
    ignored: int = -100  # the target that is left out
    is_log: bool = False  # of kl_div: whether the target is said to be logs
    has_graph: bool = True  # whether what it is given has a gradient, in a pass with one
    is_of_lengths: bool = False  # whether it was made by a division by lengths, as cosines are


@dataclass
class HeardLosses:
    """The first calls of loss functions, and the model's last pass."""

    calls: list[Heard] = field(default_factory=list)
    spread: str = ""  # shapes of which the difference has every prediction meet every target
    axis: str = ""  # of a softmax of the model's logits that is not over the vocabulary
    _logits: Tensor | None = None
    _batch: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def passes(self, model: nn.Module) -> Iterator[None]:
        """In the block, what the model reads and returns is kept until its next pass.

        A loss that the model computes itself, within a pass, has no logits yet beside it.
        """

        def forget(_module: nn.Module, _args: tuple) -> None:
            self._logits, self._batch = None, {}

        def keep(_module: nn.Module, _args: tuple, kwargs: Mapping, output: Any) -> None:
            logits = logits_in(output)
            is_wanted = len(self.calls) < MOST and isinstance(logits, Tensor)
            self._logits = logits.detach() if is_wanted else None
            self._batch = dict(kwargs) if is_wanted else {}

        handles = (
            model.register_forward_pre_hook(Hook(forget)),
            model.register_forward_hook(Hook(keep), with_kwargs=True),
        )
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def hear(self, name: str, args: tuple, kwargs: Mapping) -> None:
        """Keep a call, if it has the two tensors that a loss has."""
        if len(self.calls) >= MOST:
            return
        given = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        weight = kwargs.get("weight", args[2] if len(args) > 2 and name != "kl_div" else None)
        if isinstance(given, Tensor) and isinstance(target, Tensor):
            way = kwargs.get("reduction", args[3] if name == "kl_div" and len(args) > 3 else "mean")
            is_dead = not given.requires_grad and not target.requires_grad
            found = Heard(
                name,
                given.detach(),
                target.detach(),
                weight.detach() if isinstance(weight, Tensor) else None,
                self._logits,
                self._batch,
                reduction=str(way),
                smoothing=float(kwargs.get("label_smoothing", 0.0)),
                ignored=int(kwargs.get("ignore_index", -100)),
                is_log=bool(kwargs.get("log_target", False)),
                has_graph=not (is_dead and torch.is_grad_enabled()),
                is_of_lengths=_is_of_lengths(given),
            )
            self.calls.append(found)

    def hear_difference(self, args: tuple) -> None:
        """Note predictions (B, 1) less targets (B,), which torch spreads out to (B, B)."""
        sides = [one for one in args if isinstance(one, Tensor)]
        if self.spread or len(sides) != 2 or len({one.requires_grad for one in sides}) != 2:
            return
        flat, column = sorted(sides, key=Tensor.dim)
        if (flat.dim(), column.dim()) == (1, 2) and column.shape == (len(flat), 1) != (1, 1):
            self.spread = f"shapes {tuple(args[0].shape)} and {tuple(args[1].shape)}"

    def hear_softmax(self, name: str, args: tuple, kwargs: Mapping) -> None:
        """Note a softmax of the model's logits, (B, T, V), that runs over rows or tokens."""
        logits = self._logits
        if self.axis or logits is None or logits.dim() != 3:
            return
        given = args[0] if args else kwargs.get("input")
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if not isinstance(given, Tensor) or given.dim() != 3:
            return
        is_of_model = (given.shape[0], given.shape[2]) == (logits.shape[0], logits.shape[-1])
        if is_of_model and isinstance(dim, int) and dim % 3 != 2:
            self.axis = f"{name} of logits of shape {tuple(given.shape)} runs over axis {dim}"


def _is_of_lengths(given: Tensor) -> bool:
    """Whether lengths of vectors were taken shortly before, by what stands in the graph.

    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> _is_of_lengths(20 * F.normalize(x) @ x.T), _is_of_lengths(x @ x.T)
    (True, False)
    """
    waiting, seen = deque([given.grad_fn]), 0
    while waiting and seen < NEAR:
        node = waiting.popleft()
        if node is None:
            continue
        seen += 1
        if node.name().startswith(LENGTHS):
            return True
        waiting += [below for below, _ in node.next_functions]
    return False


class Listening(TorchFunctionMode):
    """In the block, every call of a loss function is heard, also by a name imported before."""

    def __init__(self, heard: HeardLosses) -> None:
        super().__init__()
        self.heard = heard

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in FUNCTIONS:
            self.heard.hear(FUNCTIONS[function], args, kwargs)
        elif function in SOFTMAXES:
            self.heard.hear_softmax(SOFTMAXES[function][1], args, kwargs)
        elif function in DIFFERENCES:
            self.heard.hear_difference(args)
        return function(*args, **kwargs)
