"""What the loss of a run is: decided once, from the batch and the class of the model's head.

A rule on labels, ends, packing or logits holds for some losses. `speaks_for` writes them on the
function that judges, and `may_speak` asks it.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import torch
from torch import Tensor

IGNORED = -100
MOST = 0.5  # of the labels: those of a text model are its own ids, in place or moved by one


class Loss(Enum):
    """What is predicted; the value is how a report names it."""

    NEXT_TOKEN = "the next token"
    HIDDEN_TOKENS = "hidden tokens"  # masked and permuted language models
    TAGS = "a class per token"
    ROWS = "a class or number per row"  # also one of several choices
    SPANS = "the first and last token of an answer"
    SEQ2SEQ = "the tokens of another sequence"
    PAIRS = "which of two replies is better"
    REPLIES = "which single replies are good"
    SCORES = "scores of replies"
    POLICY = "replies with high rewards"
    OTHER = "not known"


OF_TOKENS = {Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS, Loss.TAGS}  # a label per id
OF_TEXT = {Loss.NEXT_TOKEN, Loss.PAIRS, Loss.REPLIES}  # learns to write the text of its rows
BY_IDS = OF_TOKENS | OF_TEXT | {Loss.ROWS, Loss.SCORES, Loss.POLICY}  # input_ids are enough input
OF_ROWS = {"input_ids", "attention_mask", "position_ids", "token_type_ids", "completion_mask"}
_BY_HEAD = (  # names in a class, the more special before the more general
    ("MaskedLM", Loss.HIDDEN_TOKENS),
    ("ForPreTraining", Loss.HIDDEN_TOKENS),
    ("TokenClassification", Loss.TAGS),
    ("SequenceClassification", Loss.ROWS),
    ("MultipleChoice", Loss.ROWS),
    ("NextSentence", Loss.ROWS),
    ("QuestionAnswering", Loss.SPANS),
    ("CausalLM", Loss.NEXT_TOKEN),
    ("LMHead", Loss.NEXT_TOKEN),
)


def loss_of_batch(batch: Any, model: Any = None) -> Loss:
    """Decide what a model learns from a batch, without a forward pass.

    The shape of the labels goes before the class of the head: one label per row is no label of a
    token. Of a model of another class, its labels must be its ids, in place or moved by one.

    >>> import torch
    >>> ids = torch.tensor([[5, 6, 7]])
    >>> loss_of_batch({"input_ids": ids, "labels": ids}).name
    'NEXT_TOKEN'
    >>> loss_of_batch({"input_ids": ids, "labels": torch.tensor([1])}).name
    'ROWS'
    """
    columns = batch if isinstance(batch, Mapping) else {}
    ids, labels = (as_tensor(columns.get(name)) for name in ("input_ids", "labels"))
    model = getattr(model, "get_base_model", lambda: model)()
    if "advantages" in columns and labels is None:
        return Loss.POLICY
    if columns and ids is None:
        return Loss.OTHER
    if "start_positions" in columns:
        return Loss.SPANS
    if "target_mapping" in columns:  # XLNet: which tokens are predicted, and in which order
        return Loss.HIDDEN_TOKENS
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        return head_of(model) or Loss.SEQ2SEQ
    if labels is None and _is_body(model):
        return Loss.OTHER
    if labels is None:
        return head_of(model) or (Loss.OTHER if columns.keys() - OF_ROWS else Loss.NEXT_TOKEN)
    if labels.shape != ids.shape:
        is_by_row = labels.shape[:1] == ids.shape[:1] and labels.dim() < 2
        return Loss.ROWS if is_by_row else _unlike_the_ids(model)
    return head_of(model) or (Loss.NEXT_TOKEN if _are_ids(labels, ids) else Loss.OTHER)


def _is_body(model: Any) -> bool:
    """Whether this is a model of transformers without a head, as embedding models are."""
    if not hasattr(model, "config") or head_of(model) is not None:
        return False
    head = getattr(model, "get_output_embeddings", lambda: model)()
    return head is None and type(model).__name__.endswith("Model")


def _unlike_the_ids(model: Any) -> Loss:
    """Labels of several numbers per row, such as yes or no for each of several topics."""
    head = head_of(model)
    return head if head in (Loss.ROWS, Loss.SPANS) else Loss.OTHER


def head_of(model: Any) -> Loss | None:
    """The loss that the class of a model names; None for a class of one's own."""
    names = [base.__name__ for base in type(model).__mro__]
    return next((loss for word, loss in _BY_HEAD if any(word in name for name in names)), None)


def _are_ids(labels: Tensor, ids: Tensor) -> bool:
    """Whether most labels are the token at their place or a neighbour; also if there is none."""
    learnt = labels != IGNORED
    if ids.dim() != 2 or not bool(learnt.any()):
        return True
    same = (labels == ids) | (labels == ids.roll(-1, 1)) | (labels == ids.roll(1, 1))
    return float(same[learnt].double().mean()) >= MOST


def as_tensor(value: object) -> Tensor | None:
    """Numbers of a batch in any form; None for data without a regular shape."""
    if value is None or isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def speaks_for(*losses: Loss) -> Callable[[Callable], Callable]:
    """Write on a judging function for which losses what it says holds."""

    def write(judge: Callable) -> Callable:
        judge.speaks_for = frozenset(losses)
        return judge

    return write


def may_speak(judge: Callable, loss: Loss) -> bool:
    """Whether the function holds for this loss; one without a mark holds for all."""
    return loss in getattr(judge, "speaks_for", frozenset(Loss))
