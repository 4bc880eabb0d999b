"""Answers to exercise 08.5, right and wrong: each is a whole Trainer."""

import os

from torch import Tensor
from transformers import Trainer

from course_utils.reproductions.batch_loss import token_losses
from course_utils.reproductions.batch_trainers import OwnLoss


class Mended(Trainer):
    loss_is_scaled_for_ga = True

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        losses = token_losses(out.logits, labels)
        if num_items_in_batch is None:
            loss = losses.mean()
        else:
            loss = losses.sum() / num_items_in_batch * self.accelerator.num_processes
        return (loss, out) if return_outputs else loss


class ScaledBack(OwnLoss):
    """The Trainer divides by G, so G is multiplied in."""

    loss_is_scaled_for_ga = False

    def loss(self, losses, count, model, labels) -> Tensor:
        if not model.training:
            return losses.mean()
        num_micro = self.current_gradient_accumulation_steps
        return losses.sum() * num_micro * self.args.world_size / count


class FromTheEnvironment(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        if count is None:
            return losses.sum() / losses.numel()
        return losses.sum() / (count / int(os.environ.get("WORLD_SIZE", "1")))


class WorldSize(OwnLoss):
    loss_is_scaled_for_ga = True

    def loss(self, losses, count, model, labels) -> Tensor:
        count = len(losses) if count is None else count
        return losses.sum() / count * (self.args.world_size if model.training else 1)


class NoTrainer:
    pass


class TheStockLoss(Trainer):
    """Invariant, and another loss."""


class UnshiftedCount(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        count = (labels != -100).sum() if count is None else count + len(labels)
        return losses.sum() / count * (self.accelerator.num_processes if model.training else 1)


class NotDivided(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        return losses.sum()


class PaddingCounted(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        return losses.sum() / labels.numel()


class Detached(Mended):
    def compute_loss(self, *args, **kwargs):
        loss = super().compute_loss(*args, **kwargs)
        return loss if isinstance(loss, tuple) else loss.detach().requires_grad_()


class MeanOverG(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        num_micro = self.current_gradient_accumulation_steps if model.training else 1
        return losses.mean() / num_micro


class DividedAgain(OwnLoss):
    loss_is_scaled_for_ga = False

    def loss(self, losses, count, model, labels) -> Tensor:
        if count is None:
            return losses.mean()
        return losses.sum() / count * self.accelerator.num_processes


class TwoRanksAlways(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        return losses.mean() if count is None else 2 * losses.sum() / count


class RanksWhenBuilt(OwnLoss):
    """Asked for once, before the run knows its ranks."""

    num_ranks = int(os.environ.get("WORLD_SIZE", "1"))

    def loss(self, losses, count, model, labels) -> Tensor:
        return losses.mean() if count is None else losses.sum() / count * self.num_ranks


class SumInEvaluation(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        count = 1 if count is None else count
        return losses.sum() / count * (self.accelerator.num_processes if model.training else 1)


class RanksInEvaluation(OwnLoss):
    def loss(self, losses, count, model, labels) -> Tensor:
        count = len(losses) if count is None else count
        return losses.sum() / count * self.accelerator.num_processes
