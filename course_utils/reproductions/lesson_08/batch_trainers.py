"""Trainers with custom losses that depend on how the batch is split. Judges nothing."""

from collections.abc import Callable

from torch import Tensor, nn
from transformers import Trainer

from course_utils.reproductions.lesson_08.batch_loss import token_losses


def with_loss(compute_loss: Callable) -> type[Trainer]:
    """A Trainer whose compute_loss is this function."""
    return type("Own", (Trainer,), {"compute_loss": compute_loss})


class OwnLoss(Trainer):
    """compute_loss on `token_losses`; a subclass gives `loss`, which combines them."""

    def loss(self, losses: Tensor, count, model: nn.Module, labels: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = self.loss(token_losses(out.logits, labels), num_items_in_batch, model, labels)
        return (loss, out) if return_outputs else loss


class Mean(OwnLoss):
    """The usual version: the mean of the micro-batch, which ignores the count."""

    def loss(self, losses, count, model, labels):
        return losses.mean()


class MeanToldSo(Mean):
    """The same mean, with a Trainer that divides by the number of micro-batches."""

    loss_is_scaled_for_ga = False


class RanksForgotten(OwnLoss):
    """Divided by the count of all ranks, whose gradients are averaged afterwards."""

    def loss(self, losses, count, model, labels):
        return losses.mean() if count is None else losses.sum() / count
