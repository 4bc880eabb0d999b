"""The gradients that a loss leaves in small models, for the exercises of lesson 06."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.checks.watched_calls import AnswerRaised
from course_utils.reproductions.lesson_06.small_models import Classifier, classifier, examples

NOTHING_YET = "there is no gradient to look at yet"
CUT = ("does not require grad", "does not have a grad_fn")

KNOWN_WARNINGS = (
    "None of the inputs have requires_grad",  # torch, of every cut that an answer leaves in
    "`(is_)?gradient_checkpointing",  # Transformers, of the name that TRL and users still give it
)


@contextmanager
def known_warnings_ignored() -> Iterator[None]:
    """Keep quiet about what the lesson is about, also where warnings are made errors."""
    with warnings.catch_warnings():
        for message in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        yield


@dataclass(frozen=True)
class Situation:
    """One model and its data, the same whenever they are made."""

    given: str
    num: int
    seed: int = 0
    depth: int = 1
    dtype: torch.dtype = torch.float32

    def model(self) -> Classifier:
        return classifier(self.seed, self.depth).to(self.dtype)

    def model_with_gradients(self) -> Classifier:
        """The model as a loop with gradient accumulation hands it over."""
        model = self.model()
        for weight in model.parameters():
            weight.grad = torch.ones_like(weight)
        return model

    def x(self) -> Tensor:
        return examples(self.num, self.seed)[0].to(self.dtype)

    def y(self) -> Tensor:
        return examples(self.num, self.seed)[1]


SITUATIONS = (
    Situation("6 examples", 6),
    Situation("1 example", 1, seed=1),
    Situation("4 examples, float64", 4, seed=2, dtype=torch.float64),
    Situation("7 examples, a body of two layers", 7, seed=3, depth=2),
)


def in_every_situation(look: Callable[[object, Situation], str | None]):
    """A criterion that holds in all SITUATIONS, from one that looks at a single one."""

    def look_everywhere(answer) -> str | None:
        for situation in SITUATIONS:
            if seen := look(answer, situation):
                return f"with {situation.given}: {seen}"
        return None

    look_everywhere.__name__ = look.__name__
    return look_everywhere


def loss_form(loss: object) -> str | None:
    """What is wrong with the form of a loss: anything but a tensor of one floating number."""
    if not isinstance(loss, Tensor):
        return f"it returns a {type(loss).__name__}, where the loss is needed, a tensor"
    if loss.numel() != 1:
        return f"the loss has shape {tuple(loss.shape)}, where one number is needed"
    if not loss.is_floating_point():
        return f"the loss has dtype {loss.dtype}, where a floating-point number is needed"
    return None


def backward_fails(loss: Tensor) -> str | None:
    """Run `loss.backward()`; None when it runs, else what was seen of a cut."""
    try:
        loss.backward()
    except RuntimeError as error:
        if not any(text in str(error) for text in CUT):
            raise AnswerRaised(error, "loss.backward()") from error
        return f"loss.backward() raises {str(error).splitlines()[0]!r}"
    return None


def value_differs(loss: Tensor, want: Tensor, *, name: str, rtol: float = 1e-4) -> str | None:
    """Compare the value of a loss with the right one, which `name` names."""
    got, want = loss.item(), want.item()
    if abs(got - want) <= rtol * abs(want) + 1e-6:
        return None
    return f"the loss is {got:.4g}, and {name} is {want:.4g}"


def names_without_gradient(module: nn.Module) -> list[str]:
    """A gradient of zeros was computed, so it counts."""
    return [n for n, p in module.named_parameters() if p.grad is None]


def names_with_gradient(module: nn.Module) -> list[str]:
    return [n for n, p in module.named_parameters() if p.grad is not None and p.grad.any()]


def gradients_differ(got: nn.Module, want: nn.Module, *, rtol: float = 1e-4) -> str | None:
    """Compare the gradients of two models of one shape; None where `want` has them, too."""
    for (name, mine), theirs in zip(got.named_parameters(), want.parameters(), strict=True):
        if theirs.grad is None:
            continue
        if mine.grad is None:
            return f"{name}.grad is None after backward()"
        if not torch.allclose(mine.grad, theirs.grad, rtol=rtol, atol=1e-6):
            seen, right = mine.grad.norm().item(), theirs.grad.norm().item()
            gap = (mine.grad - theirs.grad).norm().item()
            return (
                f"{name}.grad has norm {seen:.4g} and the right gradient {right:.4g}; they are "
                f"{gap:.2g} apart"
            )
    return None
