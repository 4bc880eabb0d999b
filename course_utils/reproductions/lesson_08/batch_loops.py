"""Six training loops by hand: each leaves the gradient of one optimizer step. Judges nothing.

They take micro-batches, lists of `batch_loss` rows, and return the loss they would log.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.reproductions.lesson_08.batch_loss import Row, collate

Step = Callable[[list[list[Row]]], Tensor]


def sum_of_losses(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, int]:
    """The token losses of a batch, added up, and the number of its targets."""
    labels = batch["labels"][:, 1:].flatten()
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    total = cross_entropy(logits[:, :-1].flatten(0, 1), labels, ignore_index=-100, reduction="sum")
    return total, int((labels != -100).sum())


def loops(model: nn.Module) -> dict[str, Step]:
    """The six loops, by number, on one model."""

    def over(part: Callable[[Tensor, int, int, int], Tensor], between=lambda: None) -> Step:
        def step(micro_batches: list[list[Row]]) -> Tensor:
            batches = [collate(rows) for rows in micro_batches]
            whole = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in batches)
            logged = 0.0
            for batch in batches:
                total, count = sum_of_losses(model, batch)
                loss = part(total, count, whole, len(batches))
                loss.backward()
                between()
                logged += loss.detach()
            return logged

        return step

    def clip() -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)

    return {
        "1": over(lambda total, count, whole, num: total / whole * num),
        "2": over(lambda total, count, whole, num: total / whole, between=clip),
        "3": over(lambda total, count, whole, num: total / whole / num),
        "4": over(lambda total, count, whole, num: total / (whole + 16)),
        "5": over(lambda total, count, whole, num: total / count),
        "6": over(lambda total, count, whole, num: total / whole),
    }


def token_mean(model: nn.Module, rows: list[Row]) -> Tensor:
    """The reference for a step: the mean over all targets, with its graph."""
    total, count = sum_of_losses(model, collate(rows))
    return total / count
