"""Measures the replies of the first pairs: their log-probs, and which tokens are first choices.

Shape letters: R rows, T tokens.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.diagnosis.measures.forward import evaluated, outputs_of
from course_utils.diagnostics.libraries.trainer import of_columns

NUM_PAIRS = 32  # that are looked at


class PairReplies(NamedTuple):
    """The replies of pairs in a model, chosen ones before rejected ones.

    Args:
        logps_R: the log-prob of each reply.
        is_first_RT: which tokens are the model's first choice.
        is_reply_RT: which are a reply's.
    """

    logps_R: Tensor
    is_first_RT: Tensor
    is_reply_RT: Tensor

    @property
    def num_pairs(self) -> int:
        return len(self.logps_R) // 2

    @property
    def num_own(self) -> int:
        """How many chosen replies the model gives by itself, token by token."""
        n = self.num_pairs
        return int((self.is_first_RT | ~self.is_reply_RT)[:n].all(1).sum())

    @property
    def share_first(self) -> float:
        """Of the tokens of the chosen replies, those that are the model's first choice."""
        n = self.num_pairs
        return float(self.is_first_RT[:n][self.is_reply_RT[:n]].double().mean())


def first_pairs(trainer: Any) -> Mapping | None:
    """The first pairs of the data set as the run has them; None where they are in another form."""
    with unchanged(trainer.train_dataset, trainer.data_collator):
        rows = first_rows(trainer.train_dataset, NUM_PAIRS)
        batch = trainer.data_collator(of_columns(trainer, rows))
    return batch if isinstance(batch, Mapping) and "completion_mask" in batch else None


def replies_in(model: nn.Module, rows: Mapping) -> PairReplies:
    batch = {k: v for k, v in rows.items() if isinstance(v, Tensor)}
    with torch.no_grad(), evaluated(model):
        logits = outputs_of(model, batch)[:, :-1].float().cpu()
    ids, mask = rows["input_ids"][:, 1:].cpu(), rows["completion_mask"][:, 1:].bool().cpu()
    logps = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return PairReplies((logps * mask).sum(-1), logits.argmax(-1) == ids, mask)
