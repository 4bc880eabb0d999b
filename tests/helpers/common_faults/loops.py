"""Faults of loops of one's own, in plain torch."""

import torch
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import encoder
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    get_linear_schedule_with_warmup,
)

from common_faults.registry import fault

BATCH, STEPS = 16, 24


class Setting:
    """A model, its rows in batches, an optimizer and a log."""

    def __init__(self, rate: float = 2e-3, optimizer=torch.optim.AdamW, **changed):
        torch.manual_seed(0)
        self.tokenizer = tok.bert()
        self.model = BertForSequenceClassification(encoder(BertConfig, self.tokenizer, **changed))
        self.rows = texts.reviews(400)
        self.optimizer = optimizer(self.model.parameters(), lr=rate)
        self.log: list[dict] = []

    def batch(self, step: int, size: int = BATCH):
        at = step * size % 384
        rows = self.rows[at : at + size]
        told = self.tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")
        return {**told, "labels": torch.tensor([row["label"] for row in rows])}

    def watched(self, watching, **more):
        return watching(
            self.model, optimizer=self.optimizer, log=self.log, tokenizer=self.tokenizer, **more
        )

    def say(self, loss) -> None:
        self.log.append({"loss": loss.item()})


@fault("gradients_never_cleared", "gradients_not_cleared", is_loop=True)
def gradients_never_cleared(watching):
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("cleared_before_the_step", "cleared_before_step no_gradient", is_loop=True)
def cleared_before_the_step(watching):
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            loss.backward()
            own.optimizer.zero_grad()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("cleared_in_each_micro_batch", "cleared_between", is_loop=True)
def cleared_in_each_micro_batch(watching):
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(4 * STEPS):
            own.optimizer.zero_grad()
            loss = own.model(**own.batch(step, 4)).loss / 4
            loss.backward()
            if step % 4 == 3:
                own.optimizer.step()
                own.say(4 * loss)
    return run.report


@fault("micro_batches_summed", "split_changes_loss", is_loop=True, is_open=True)
def micro_batches_not_divided(watching):
    own = Setting(optimizer=torch.optim.SGD, rate=0.1)
    own.model.train()
    with own.watched(watching) as run:
        for step in range(4 * STEPS):
            loss = own.model(**own.batch(step, 4)).loss
            loss.backward()
            if step % 4 == 3:
                own.optimizer.step()
                own.optimizer.zero_grad()
                own.say(loss)
    return run.report


@fault("stays_in_evaluation", "mode_not_restored", is_loop=True)
def stays_in_evaluation(watching):
    """After the first evaluation the model never goes back to training."""
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            if step == 6:
                own.model.eval()
                with torch.no_grad():
                    own.model(**own.batch(100))
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("evaluates_while_training", "evaluated_in_training_mode", is_loop=True)
def evaluates_while_training(watching):
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            if step % 6 == 5:
                with torch.no_grad():
                    own.log.append({"eval_loss": float(own.model(**own.batch(100)).loss)})
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("clips_after_the_step", "clipped_too_late", is_loop=True)
def clips_after_the_step(watching):
    own = Setting(optimizer=torch.optim.SGD, rate=0.1)
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            nn.utils.clip_grad_norm_(own.model.parameters(), 0.1)
            own.say(loss)
    return run.report


@fault("clips_before_backward", "clipped_too_late", is_loop=True)
def clips_before_backward(watching):
    own = Setting(optimizer=torch.optim.SGD, rate=0.1)
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            own.optimizer.zero_grad()
            loss = own.model(**own.batch(step)).loss
            nn.utils.clip_grad_norm_(own.model.parameters(), 0.1)
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("same_batch_always", "batch_repeats", is_loop=True, is_open=True)
def same_batch_always(watching):
    """`next(iter(loader))` in the loop gives the first batch each time."""
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(0)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
            assert step >= 0
    return run.report


@fault("schedule_made_and_not_stepped", "schedule_not_stepped", is_loop=True)
def schedule_made_and_not_stepped(watching):
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        own.schedule = torch.optim.lr_scheduler.LinearLR(own.optimizer, 0.01, 1.0, STEPS)
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("schedule_in_each_micro_batch", "schedule_ends_early", is_loop=True)
def schedule_in_each_micro_batch(watching):
    own = Setting()
    own.model.train()
    schedule = torch.optim.lr_scheduler.LinearLR(own.optimizer, 1.0, 0.0, STEPS)
    with own.watched(watching) as run:
        for step in range(4 * STEPS):
            loss = own.model(**own.batch(step, 4)).loss / 4
            loss.backward()
            schedule.step()
            if step % 4 == 3:
                own.optimizer.step()
                own.optimizer.zero_grad()
                own.say(4 * loss)
    return run.report


def in_epochs(own, watching, *, rows=None, each=lambda: None, end=lambda model: None):
    """Three epochs of eight steps; `each` is called after each epoch, `end` after all."""
    rows = rows or own.rows
    own.rows = rows
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
            if step % 8 == 7:
                each()
        end(own.model)
    return run.report


@fault("linear_schedule_by_epochs", "schedule_too_slow", is_loop=True)
def linear_schedule_by_epochs(watching):
    own = Setting()
    schedule = get_linear_schedule_with_warmup(own.optimizer, 4, STEPS)
    return in_epochs(own, watching, each=lambda: schedule.step())


@fault("cosine_schedule_by_epochs", "schedule_too_slow", is_loop=True)
def cosine_schedule_by_epochs(watching):
    own = Setting()
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(own.optimizer, STEPS)
    return in_epochs(own, watching, each=lambda: schedule.step())


@fault("best_kept_without_a_copy", "kept_by_reference", is_loop=True)
def best_kept_without_a_copy(watching):
    own, kept = Setting(), {}
    return in_epochs(
        own,
        watching,
        each=lambda: kept or kept.update(own.model.state_dict()),
        end=lambda model: model.load_state_dict(kept),
    )


@fault("rows_sorted_in_a_loop", "rows_in_order", is_loop=True)
def rows_sorted_in_a_loop(watching):
    own = Setting()
    return in_epochs(own, watching, rows=sorted(own.rows, key=lambda row: row["label"]))


@fault("loss_of_another_batch", "labels_uninformative", is_loop=True)
def loss_of_another_batch(watching):
    """Inputs and labels come from two loaders that shuffle by themselves."""
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(2 * STEPS):
            batch = own.batch(step)
            batch["labels"] = own.batch(step + 7)["labels"]
            loss = own.model(**batch).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("teacher_is_trained_too", "reference_moves", is_loop=True)
def teacher_is_trained_too(watching):
    own = Setting()
    teacher = BertForSequenceClassification(own.model.config)
    own.model.train()
    both = [*own.model.parameters(), *teacher.parameters()]
    own.optimizer = torch.optim.AdamW(both, lr=2e-3)
    with own.watched(watching, reference=teacher) as run:
        for step in range(STEPS):
            batch = own.batch(step)
            labels = batch.pop("labels")
            wanted = teacher(**batch).logits.softmax(-1)
            logits = own.model(**batch).logits.log_softmax(-1)
            loss = nn.functional.kl_div(logits, wanted, reduction="batchmean")
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
            assert len(labels)
    return run.report


@fault("divergence_of_probabilities", "probabilities_as_logs", is_loop=True)
def divergence_of_probabilities(watching):
    """kl_div takes log-probabilities first."""
    own = Setting()
    teacher = BertForSequenceClassification(own.model.config).eval()
    own.model.train()
    with own.watched(watching, reference=teacher) as run:
        for step in range(STEPS):
            batch = own.batch(step)
            batch.pop("labels")
            with torch.no_grad():
                wanted = teacher(**batch).logits.softmax(-1)
            probabilities = own.model(**batch).logits.softmax(-1)
            loss = nn.functional.kl_div(probabilities, wanted, reduction="batchmean")
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


def trained(watching, loss_of, own=None, steps: int = STEPS):
    """A sound loop around a loss of one's own, a function of the model and a batch."""
    own = own or Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(steps):
            loss = loss_of(own.model, own.batch(step))
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.say(loss)
    return run.report


@fault("amounts_spread_out", "labels_shape", is_loop=True)
def amounts_spread_out(watching):
    """Predictions of (rows, 1) against targets of (rows,)."""

    def loss_of(model, batch):
        wanted = batch.pop("labels").float()
        return nn.functional.mse_loss(model(**batch).logits, wanted)

    return trained(watching, loss_of, Setting(num_labels=1))


@fault("logits_into_nll", "probabilities_as_logs", is_loop=True)
def logits_into_nll(watching):
    def loss_of(model, batch):
        wanted = batch.pop("labels")
        return nn.functional.nll_loss(model(**batch).logits, wanted)

    return trained(watching, loss_of)


def similarities(model, batch, scale: float):
    """Each text against all texts of the batch, seen twice through dropout."""
    batch.pop("labels")
    first, second = (model.bert(**batch).pooler_output for _ in range(2))
    cosines = nn.functional.cosine_similarity(first[:, None], second[None], dim=-1)
    return nn.functional.cross_entropy(scale * cosines, torch.arange(len(cosines)))


@fault("cosines_without_scale", "similarity_unscaled", is_loop=True)
def cosines_without_scale(watching):
    return trained(watching, lambda model, batch: similarities(model, batch, 1.0))


@fault("stepped_by_two", "stepped_twice", is_loop=True)
def stepped_by_two(watching):
    """The loop and a helper both step the optimizer."""
    own = Setting()
    own.model.train()
    with own.watched(watching) as run:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            own.optimizer.step()
            own.optimizer.step()
            own.say(loss)
    return run.report
