"""Right and wrong answers to exercise 06.1, as people give them."""

import torch
from torch.utils.checkpoint import checkpoint


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


def loss_with_both_parts_inside(embedding, block, ids):
    return checkpoint(lambda ids: block(embedding(ids)).sum(), ids, use_reentrant=False)


def loss_with_a_dummy_input(embedding, block, ids):
    dummy = torch.zeros((), requires_grad=True)
    return checkpoint(lambda h, _: block(h), embedding(ids), dummy, use_reentrant=True).sum()


def loss_as_it_was(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).sum()


def loss_marked_itself(embedding, block, ids):
    return loss_as_it_was(embedding, block, ids).requires_grad_()


def loss_with_marked_output(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=True).requires_grad_().sum()


def loss_with_trainable_embedding(embedding, block, ids):
    embedding.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


def loss_that_leaves_its_hook(embedding, block, ids):
    embedding.register_forward_hook(lambda _m, _i, output: output.requires_grad_())
    return loss_as_it_was(embedding, block, ids)


def loss_with_embedding_thawed_for_a_moment(embedding, block, ids):
    embedding.requires_grad_(True)
    loss = loss_as_it_was(embedding, block, ids)
    embedding.requires_grad_(False)
    return loss


def loss_without_checkpoint(embedding, block, ids):
    return block(embedding(ids)).sum()


def loss_with_block_marked(embedding, block, ids):
    block.requires_grad_(True)
    return loss_as_it_was(embedding, block, ids)


def loss_with_discarded_checkpoint(embedding, block, ids):
    checkpoint(block, embedding(ids), use_reentrant=True)
    return block(embedding(ids)).sum()


def loss_that_only_computes_twice(embedding, block, ids):
    hidden = embedding(ids)
    out = block(hidden)
    out.register_hook(lambda _grad: (block(hidden), None)[1])
    return out.sum()


def loss_as_a_mean(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False).mean()


def loss_not_summed(embedding, block, ids):
    return checkpoint(block, embedding(ids), use_reentrant=False)


def loss_as_a_number(embedding, block, ids):
    return loss_without_reentering(embedding, block, ids).item()


def loss_with_other_dropout_in_backward(embedding, block, ids):
    hidden = embedding(ids)
    output = checkpoint(block, hidden, use_reentrant=False, preserve_rng_state=False)
    return output.sum()


def loss_with_a_seed_of_its_own(embedding, block, ids):
    torch.manual_seed(0)
    return loss_without_reentering(embedding, block, ids)
