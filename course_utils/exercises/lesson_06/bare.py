"""Exercise 06.1: one frozen embedding, one checkpointed block, and a gradient that arrives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.sample_modules import INSIDE, Counting
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    gradients_differ,
    known_warnings_ignored,
    loss_form,
    value_differs,
)
from course_utils.reproductions.lesson_06.small_models import seeded


@dataclass(frozen=True)
class _Given:
    name: str
    ids: torch.Tensor
    seed: int
    dtype: torch.dtype = torch.float32

    def parts(self) -> tuple[nn.Embedding, Counting]:
        embedding, block = seeded(lambda: (nn.Embedding(10, 4), Counting()), self.seed)
        return embedding.requires_grad_(False).to(self.dtype), block.to(self.dtype)


GIVEN = (
    _Given("4 ids", torch.tensor([3, 1, 4, 1]), 0),
    _Given("1 id", torch.tensor([7]), 1),
    _Given("ids of shape (2, 3)", torch.tensor([[3, 1, 4], [1, 5, 9]]), 2),
    _Given("ids of shape (2, 1), float64", torch.tensor([[2], [6]]), 3, torch.float64),
)


@dataclass(frozen=True)
class _Step:
    """One forward and backward pass of the student's loss."""

    given: _Given
    fails: str | None
    loss: torch.Tensor
    embedding: nn.Embedding
    block: Counting
    calls: tuple[int, int]  # of the block, in forward and in backward
    num_kept: int  # activations of the block's inside that wait for backward


@contextmanager
def _same_dropout(given: _Given) -> Iterator[None]:
    """One random state for the answer and for what it is compared with."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(100 + given.seed)
        yield


def _plain_sum(given: _Given) -> tuple[torch.Tensor, Counting]:
    """The loss without a checkpoint, and its block."""
    embedding, block = given.parts()
    with _same_dropout(given):
        return block(embedding(given.ids)).sum(), block


def _step(checkpointed_loss, given: _Given) -> _Step:
    embedding, block = given.parts()
    kept = []

    def pack(tensor):
        kept.append(tuple(tensor.shape))
        return tensor

    with known_warnings_ignored(), _same_dropout(given):
        with saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = checkpointed_loss(embedding, block, given.ids)
        in_forward, num_kept = block.num_calls, sum(s[-1:] == (INSIDE,) for s in kept)
        fails = backward_fails(loss)
    calls = in_forward, block.num_calls - in_forward
    return _Step(given, fails, loss, embedding, block, calls, num_kept)


def _look_at_each(look):
    """A criterion on every given input, from one on a single step."""

    def look_everywhere(checkpointed_loss) -> str | None:
        for given in GIVEN:
            if seen := look(_step(checkpointed_loss, given)):
                return f"with {given.name}: {seen}"
        return None

    look_everywhere.__name__ = look.__name__
    return look_everywhere


def returns_a_loss(checkpointed_loss) -> str | None:
    with known_warnings_ignored():
        return loss_form(checkpointed_loss(*GIVEN[0].parts(), GIVEN[0].ids))


@_look_at_each
def runs_backward(step: _Step) -> str | None:
    return step.fails


@_look_at_each
def is_the_sum(step: _Step) -> str | None:
    return value_differs(step.loss, _plain_sum(step.given)[0], name="the sum")


@_look_at_each
def block_gets_its_gradient(step: _Step) -> str | None:
    if step.fails:
        return NOTHING_YET
    loss, same_block = _plain_sum(step.given)
    loss.backward()
    return gradients_differ(step.block, same_block)


@_look_at_each
def block_is_recomputed(step: _Step) -> str | None:
    if step.fails:
        return NOTHING_YET
    if step.calls != (1, 1):
        forward, backward = step.calls
        return (
            f"the block is computed {forward} time(s) in the forward pass and {backward} in the "
            "backward pass; a checkpoint computes it once in each"
        )
    if step.num_kept:
        return f"{step.num_kept} activation(s) of the block's inside are kept until backward()"
    return None


def loss_without_reentering(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False).sum()


BARE = Exercise(
    id="06.1",
    name="BARE",
    title="Let the gradient reach a checkpointed block",
    minutes=4,
    difficulty="one line",
    points=3,
    reads="checkpointed_loss",
    expects=(Callable,),
    hints=(
        "Which of the tensors that go into the checkpoint requires grad?",
        "Either some input has to require grad, or the checkpoint must not depend on its inputs.",
        "The second way is one argument of checkpoint(...). The first marks what the embedding "
        "returns, before the checkpoint: which method of a tensor does that?",
    ),
    form=returns_a_loss,
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a loss without a grad_fn has no way back to any weight",
            next="print requires_grad of the checkpoint's input and of its output",
        ),
        Criterion(
            "The loss is the sum of the block's output.",
            is_the_sum,
            why="a fixed graph must not change what is trained",
            next="compare with block(embedding(ids)).sum()",
        ),
        Criterion(
            "The block's weights get the gradient that they get without a checkpoint.",
            block_gets_its_gradient,
            why="without the error, the gradient may still not arrive",
            next="is the graph whole before the checkpoint, and does the second pass draw the same "
            "dropout?",
        ),
        Criterion(
            "The block is computed again in the backward pass, and nothing inside it is kept.",
            block_is_recomputed,
            why="this is what saves the memory; without it there is no checkpoint",
            next="the loss has to be made from what checkpoint(...) returns",
        ),
    ),
    answer=loss_without_reentering,
)
