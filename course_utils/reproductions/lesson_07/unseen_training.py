"""How the unseen scripts of lesson 07 are trained: on replies, or on pairs of them.

Shape letters: B row, T token, V vocabulary.
"""

from collections.abc import Callable

import torch
from transformers import PreTrainedModel

from course_utils.shown.progress_line import track

BETA = 0.1  # of the preference loss, per nat


def reply_loss(model: PreTrainedModel, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict]:
    """The mean loss of the labels."""
    loss = model(**batch).loss
    return loss, {"loss": loss.item()}


def preference_loss(
    model: PreTrainedModel, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict]:
    """CPO: DPO without a reference model, and the loss of the chosen replies beside it."""
    given = {name: batch[name] for name in ("input_ids", "attention_mask")}
    logits_BTV = model(**given).logits[:, :-1]
    labels_BT = batch["labels"][:, 1:]
    is_learnt_BT = labels_BT != -100
    logp_BT = logits_BTV.log_softmax(-1).gather(-1, labels_BT.clamp(min=0)[..., None])[..., 0]
    chosen, rejected = (logp_BT * is_learnt_BT).sum(-1).chunk(2)
    margin = BETA * (chosen - rejected)
    of_chosen = -chosen.sum() / is_learnt_BT[: len(chosen)].sum()
    loss = of_chosen - torch.nn.functional.logsigmoid(margin).mean()
    return loss, {"loss": loss.item(), "margin": margin.mean().item()}


def fit(model: PreTrainedModel, batches: list[dict], loss_of: Callable) -> list[dict[str, float]]:
    """Train once on every batch, the learning rate falling to 0; what each step logged."""
    optimizer, logged = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    model.train()
    for step, batch in enumerate(track(batches, "training")):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 - step / len(batches))
        loss, numbers = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logged.append(numbers)
    return logged
