"""Right and wrong answers of exercise 06.1."""

import torch
from torch.utils.checkpoint import checkpoint

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import bare
from course_utils.exercises.lesson_06.bare import loss_without_reentering
from tests.answers import answers_of

right, wrong = answers_of(bare.BARE)


@right
def loss_with_marked_input(embedding, block, ids):
    hidden = embedding(ids).requires_grad_()
    return checkpoint(block, hidden, use_reentrant=True).sum()


@right
def loss_with_marking_hook(embedding, block, ids):
    hook = embedding.register_forward_hook(lambda _m, _i, output: output.requires_grad_())
    hidden = embedding(ids)
    hook.remove()
    return checkpoint(block, hidden, use_reentrant=True).sum()


@right
def loss_with_both_parts_inside(embedding, block, ids):
    return checkpoint(lambda ids: block(embedding(ids)).sum(), ids, use_reentrant=False)


@right
def loss_with_a_dummy_input(embedding, block, ids):
    dummy = torch.zeros((), requires_grad=True)
    return checkpoint(lambda h, _: block(h), embedding(ids), dummy, use_reentrant=True).sum()


@wrong(caught_by=bare.runs_backward)
def loss_as_it_was(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).sum()


@wrong(caught_by=bare.block_gets_its_gradient)
def loss_marked_itself(embedding, block, ids):
    return loss_as_it_was(embedding, block, ids).requires_grad_()


@wrong(caught_by=bare.block_gets_its_gradient)
def loss_with_marked_output(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).requires_grad_().sum()


@wrong(caught_by=checking.leaves_its_inputs_alone)
def loss_with_trainable_embedding(embedding, block, ids):
    embedding.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def loss_that_leaves_its_hook(embedding, block, ids):
    embedding.register_forward_hook(lambda _m, _i, output: output.requires_grad_())
    return loss_as_it_was(embedding, block, ids)


@right
def loss_with_embedding_thawed_for_a_moment(embedding, block, ids):
    embedding.requires_grad_(True)
    loss = loss_as_it_was(embedding, block, ids)
    embedding.requires_grad_(False)
    return loss


@wrong(caught_by=bare.block_is_recomputed)
def loss_without_checkpoint(embedding, block, ids):
    return block(embedding(ids)).sum()


@wrong(caught_by=bare.runs_backward)
def loss_with_block_marked(embedding, block, ids):
    block.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


@wrong(caught_by=bare.is_the_sum)
def loss_with_discarded_checkpoint(embedding, block, ids):
    checkpoint(block, embedding(ids), use_reentrant=True)
    return block(embedding(ids)).sum()


@wrong(caught_by=bare.block_is_recomputed)
def loss_that_only_computes_twice(embedding, block, ids):
    hidden = embedding(ids)
    out = block(hidden)
    out.register_hook(lambda _grad: (block(hidden), None)[1])
    return out.sum()


@wrong(caught_by=bare.is_the_sum)
def loss_as_a_mean(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False).mean()


@wrong(caught_by=bare.returns_a_loss)
def loss_not_summed(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False)


@wrong(caught_by=bare.returns_a_loss)
def loss_as_a_number(embedding, block, ids):
    return loss_without_reentering(embedding, block, ids).item()


@wrong(caught_by=bare.block_gets_its_gradient)
def loss_with_other_dropout_in_backward(embedding, block, ids):
    hidden = embedding(ids)
    output = checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=False)
    return output.sum()


@wrong(caught_by=bare.is_the_sum)
def loss_with_a_seed_of_its_own(embedding, block, ids):
    torch.manual_seed(0)
    return loss_without_reentering(embedding, block, ids)
