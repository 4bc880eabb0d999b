"""Right and wrong answers of exercise 08.5."""

import os
from functools import partial

from torch.nn.functional import cross_entropy

from course_utils.exercises.lesson_08 import mend
from course_utils.exercises.lesson_08.mend import mended
from course_utils.reproductions.lesson_08.batch_loss import token_losses
from tests.answers import answers_of

right, wrong = answers_of(mend.MEND)


def _losses(model, inputs):
    out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    return token_losses(out.logits, inputs["labels"]), out


def _given(loss, out, return_outputs):
    return (loss, out) if return_outputs else loss


@right
def from_the_environment(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    num_ranks = int(os.environ.get("WORLD_SIZE", "1"))
    count = num_ranks * len(losses) if num_items_in_batch is None else num_items_in_batch
    return _given(losses.sum() / (count / num_ranks), out, return_outputs)


@right
def of_world_size(self, model, inputs, return_outputs=False, **more):
    losses, out = _losses(model, inputs)
    count = more.get("num_items_in_batch")
    share = 1 / len(losses) if count is None else self.args.world_size / count
    return _given((losses * share).sum(), out, return_outputs)


@right
def mean_by_its_share(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    loss = losses.mean()
    if num_items_in_batch is not None:
        loss = loss * len(losses) * self.accelerator.num_processes / num_items_in_batch
    return _given(loss, out, return_outputs)


@right
def as_a_list(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    loss, out = mended(self, model, inputs, True, num_items_in_batch)
    return [loss, {"logits": out.logits}] if return_outputs else loss


@right
def by_the_setting(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    """Also where each rank is told to count alone: then its count needs no factor."""
    losses, out = _losses(model, inputs)
    gathered = self.args.average_tokens_across_devices
    num_ranks = self.accelerator.num_processes if gathered else 1
    count = num_items_in_batch
    loss = losses.mean() if count is None else losses.sum() / count * num_ranks
    return _given(loss, out, return_outputs)


@right
def masked_in_a_copy(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    labels = inputs.pop("labels").clone()
    labels[:, 0] = -100  # no prediction is compared with the first
    given = dict(inputs) | {"labels": labels}
    return mended(self, model, given, return_outputs, num_items_in_batch)


@wrong(caught_by=mend.gives_a_loss)
def token_by_token(self, model, inputs, return_outputs=False, **more):
    losses, _ = _losses(model, inputs)
    return losses


@wrong(caught_by=mend.gives_a_loss)
def a_float(self, model, inputs, return_outputs=False, **more):
    losses, _ = _losses(model, inputs)
    return losses.mean().item()


@wrong(caught_by=mend.is_the_token_mean)
def plain_cross_entropy(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    labels = inputs["labels"][:, 1:].flatten()
    out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    loss = cross_entropy(out.logits[:, :-1].flatten(0, 1), labels, reduction="sum")
    count = (labels != -100).sum() if num_items_in_batch is None else num_items_in_batch
    return _given(loss / count * self.accelerator.num_processes, out, return_outputs)


@wrong(caught_by=mend.is_the_token_mean)
def unshifted_count(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = inputs["attention_mask"].sum() if num_items_in_batch is not None else len(losses)
    return _given(losses.sum() / count, out, return_outputs)


@wrong(caught_by=mend.is_the_token_mean)
def not_divided(self, model, inputs, return_outputs=False, **more):
    losses, out = _losses(model, inputs)
    return _given(losses.sum(), out, return_outputs)


@wrong(caught_by=mend.is_the_token_mean)
def padding_counted(self, model, inputs, return_outputs=False, **more):
    losses, out = _losses(model, inputs)
    return _given(losses.sum() / inputs["labels"].numel(), out, return_outputs)


@wrong(caught_by=mend.is_the_token_mean)
def detached(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    return _given(losses.mean().detach().requires_grad_(), out, return_outputs)


@wrong(caught_by=mend.is_the_token_mean)
def two_ranks_always(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = len(losses) if num_items_in_batch is None else num_items_in_batch
    return _given(2 * losses.sum() / count, out, return_outputs)


@wrong(caught_by=mend.same_for_every_split)
def a_mean(self, model, inputs, return_outputs=False, **more):
    losses, out = _losses(model, inputs)
    return _given(losses.mean(), out, return_outputs)


@wrong(caught_by=mend.same_for_every_split)
def mean_over_g(self, model, inputs, return_outputs=False, **more):
    losses, out = _losses(model, inputs)
    num_micro = self.current_gradient_accumulation_steps if model.training else 1
    return _given(losses.mean() / num_micro, out, return_outputs)


@wrong(caught_by=mend.same_for_every_split)
def divided_again(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = len(losses) if num_items_in_batch is None else num_items_in_batch
    num = count * self.current_gradient_accumulation_steps
    return _given(losses.sum() / num * self.accelerator.num_processes, out, return_outputs)


@wrong(caught_by=mend.same_for_every_split)
def divided_by_the_settings(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    loss, out = mended(self, model, inputs, True, num_items_in_batch)
    return _given(loss / self.args.gradient_accumulation_steps, out, return_outputs)


@wrong(caught_by=mend.same_for_every_split)
def own_count_over_g(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    num = len(losses) * self.current_gradient_accumulation_steps
    return _given(losses.sum() / num * self.accelerator.num_processes, out, return_outputs)


@wrong(caught_by=mend.same_for_every_number_of_ranks)
def ranks_forgotten(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    loss = losses.mean() if num_items_in_batch is None else losses.sum() / num_items_in_batch
    return _given(loss, out, return_outputs)


@wrong(caught_by=mend.same_for_every_number_of_ranks)
def at_most_two_ranks(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    num_ranks = min(self.accelerator.num_processes, 2)
    count = num_ranks * len(losses) if num_items_in_batch is None else num_items_in_batch
    return _given(losses.sum() / count * num_ranks, out, return_outputs)


@wrong(caught_by=mend.evaluates)
def sum_without_a_count(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = 1 if num_items_in_batch is None else num_items_in_batch
    return _given(losses.sum() / count * self.accelerator.num_processes, out, return_outputs)


@wrong(caught_by=mend.evaluates)
def ranks_without_a_count(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = len(losses) if num_items_in_batch is None else num_items_in_batch
    return _given(losses.sum() / count * self.accelerator.num_processes, out, return_outputs)


@wrong(caught_by=mend.evaluates)
def ranks_in_training_only(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    losses, out = _losses(model, inputs)
    count = len(losses) if num_items_in_batch is None else num_items_in_batch
    num_ranks = self.accelerator.num_processes if model.training else 1
    return _given(losses.sum() / count * num_ranks, out, return_outputs)


@wrong(caught_by=mend.hands_on_the_outputs)
def never_the_outputs(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    return mended(self, model, dict(inputs), False, num_items_in_batch)


@wrong(caught_by=mend.hands_on_the_outputs)
def no_outputs(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    loss = mended(self, model, inputs, False, num_items_in_batch)
    return _given(loss, None, return_outputs)


@wrong(caught_by=mend.hands_on_the_outputs)
def inputs_for_outputs(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    loss = mended(self, model, inputs, False, num_items_in_batch)
    return _given(loss, inputs, return_outputs)


@wrong(caught_by=mend.hands_on_the_outputs)
def logits_for_outputs(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    loss, out = mended(self, model, inputs, True, num_items_in_batch)
    return _given(loss, out.logits, return_outputs)


@wrong(caught_by=mend.leaves_the_tensors)
def labels_wiped(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    labels = inputs["labels"]
    loss, out = mended(self, model, inputs, True, num_items_in_batch)
    labels.fill_(-100)
    return _given(loss, out, return_outputs)


@wrong(caught_by=mend.leaves_the_tensors)
def nothing_masked(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    """Padding is on the right, so no target sees it; the logits of the padding change."""
    inputs["attention_mask"].fill_(1)
    return mended(self, model, inputs, return_outputs, num_items_in_batch)


@wrong(caught_by=mend.leaves_the_tensors)
def labels_wiped_in_training(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    labels = inputs["labels"]
    loss, out = mended(self, model, inputs, True, num_items_in_batch)
    if model.training:
        labels[:] = -100
    return _given(loss, out, return_outputs)


@wrong(caught_by=mend.leaves_the_tensors)
def left_in_evaluation(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    """Without dropout the numbers are steadier, and nothing is trained with it any more."""
    return mended(self, model.train(False), inputs, return_outputs, num_items_in_batch)


@wrong(caught_by=mend.leaves_the_tensors)
def put_into_training(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    return mended(self, model.train(), inputs, return_outputs, num_items_in_batch)


class _Callable:
    def __call__(self, trainer, model, inputs, return_outputs=False, num_items_in_batch=None):
        return mended(trainer, model, inputs, return_outputs, num_items_in_batch)


# The right sum, in what a class does not bind as a method.
A_CALLABLE, A_PARTIAL = _Callable(), partial(mended)

wrong(A_CALLABLE, caught_by=mend.gives_a_loss)
wrong(A_PARTIAL, caught_by=mend.gives_a_loss)
