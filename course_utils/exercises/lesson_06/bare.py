"""Exercise 06.1: one frozen embedding, one checkpointed block, and a gradient that arrives."""

from collections.abc import Callable

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_utils.exercises.declare import Criterion, Exercise, Wrong
from course_utils.exercises.lesson_06.gradients import (
    NOTHING_YET,
    backward_fails,
    gradients_differ,
    known_warnings_ignored,
)
from course_utils.reproductions.small_models import seeded

IDS = torch.tensor([3, 1, 4, 1])


class _Block(nn.Sequential):
    """A block that counts how often it is computed."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        self.num_calls = 0

    def forward(self, hidden):
        self.num_calls += 1
        return super().forward(hidden)


def _parts() -> tuple[nn.Embedding, _Block]:
    embedding, block = seeded(lambda: (nn.Embedding(10, 4), _Block()))
    return embedding.requires_grad_(False), block


def _runs(checkpointed_loss) -> tuple[str | None, nn.Embedding, _Block]:
    """What backward() says to the student's loss, and the two modules after it."""
    embedding, block = _parts()
    with known_warnings_ignored():
        saw = backward_fails(checkpointed_loss(embedding, block, IDS))
    return saw, embedding, block


def runs_backward(checkpointed_loss) -> str | None:
    saw, _, _ = _runs(checkpointed_loss)
    return saw


def block_gets_its_gradient(checkpointed_loss) -> str | None:
    saw, _, block = _runs(checkpointed_loss)
    if saw:
        return NOTHING_YET
    same_embedding, same_block = _parts()
    same_block(same_embedding(IDS)).sum().backward()
    return gradients_differ(block, same_block)


def embedding_stays_frozen(checkpointed_loss) -> str | None:
    _, embedding, _ = _runs(checkpointed_loss)
    if embedding.weight.requires_grad or embedding.weight.grad is not None:
        return f"embedding.weight.requires_grad is {embedding.weight.requires_grad} afterwards"
    return None


def block_is_recomputed(checkpointed_loss) -> str | None:
    saw, _, block = _runs(checkpointed_loss)
    if saw:
        return NOTHING_YET
    if block.num_calls == 2:
        return None
    return f"forward and backward computed the block {block.num_calls} time(s), not twice"


def loss_without_reentering(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False).sum()


def loss_with_marked_input(embedding, block, ids):
    hidden = embedding(ids).requires_grad_()
    return checkpoint(block, hidden, use_reentrant=True).sum()


def loss_with_marking_hook(embedding, block, ids):
    hook = embedding.register_forward_hook(lambda _m, _i, output: output.requires_grad_())
    hidden = embedding(ids)
    hook.remove()
    return checkpoint(block, hidden, use_reentrant=True).sum()


def loss_as_it_was(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).sum()


def loss_marked_itself(embedding, block, ids):
    return loss_as_it_was(embedding, block, ids).requires_grad_()


def loss_with_marked_output(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).requires_grad_().sum()


def loss_with_trainable_embedding(embedding, block, ids):
    embedding.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


def loss_without_checkpoint(embedding, block, ids):
    return block(embedding(ids)).sum()


def loss_with_block_marked(embedding, block, ids):
    block.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


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
        "Of the tensors that go into the checkpoint, which requires grad?",
        "Either some input has to require grad, or the checkpoint must not depend on its inputs.",
        "An activation can be marked as a weight can: tensor.requires_grad_(). Or look at the "
        "other value of use_reentrant.",
    ),
    criteria=(
        Criterion(
            "loss.backward() runs.",
            runs_backward,
            why="a loss without a grad_fn has no way back to any weight",
            next="print requires_grad of the checkpoint's input and of its output",
        ),
        Criterion(
            "The block's weights get the gradient that they get without a checkpoint.",
            block_gets_its_gradient,
            why="an error that is gone is not yet a gradient that arrives",
            next="mend the graph before the checkpoint, not after it",
        ),
        Criterion(
            "The embedding stays frozen.",
            embedding_stays_frozen,
            why="its optimizer state would cost more memory than the checkpoint saves",
            next="the graph may begin at a tensor that is no weight",
        ),
        Criterion(
            "The block is computed again in the backward pass.",
            block_is_recomputed,
            why="that is what saves the memory; without it you have given up checkpointing",
            next="keep the call of checkpoint(...), and let a gradient come back to its output",
        ),
    ),
    right=(loss_without_reentering, loss_with_marked_input, loss_with_marking_hook),
    wrong=(
        Wrong(loss_as_it_was, caught_by=runs_backward),
        Wrong(loss_with_block_marked, caught_by=runs_backward),
        Wrong(loss_marked_itself, caught_by=block_gets_its_gradient),
        Wrong(loss_with_marked_output, caught_by=block_gets_its_gradient),
        Wrong(loss_with_trainable_embedding, caught_by=embedding_stays_frozen),
        Wrong(loss_without_checkpoint, caught_by=block_is_recomputed),
    ),
)
