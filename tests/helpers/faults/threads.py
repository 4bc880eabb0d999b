"""The kinds of broken runs met in real threads, each with its healthy twin, in real libraries.

Each kind is a function of one flag: broken or healthy. It gives a Trainer or a Step; nothing else
differs between the two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from course_utils.zoo import training
from course_utils.zoo.mixed_precision import Float16OnCpu

from .harmless import TwoLayers
from .models import load, make_batch
from .planted import Step, Values, step
from .trainers import grpo_trainer

INF = float("inf")


@dataclass(frozen=True)
class Kind:
    """What an instrument has to say about a broken run.

    `place` is a piece of the text that names the place; `rows` those of the batch, () where no
    row is to blame.
    """

    build: Callable[[bool], Any]
    kind: str
    place: str
    cause: str
    rows: tuple[int, ...] = ()
    micro_batch: int | None = None
    is_harmless: bool = False  # nothing is inf or nan: the watch only says what it did not see

    @property
    def name(self) -> str:
        return self.build.__name__


class HalfTrainer(Float16OnCpu, Trainer):
    pass


def trainer(model: nn.Module, rows: list[dict], cls: type = Trainer, **settings) -> Trainer:
    config = training.quiet_config() | {
        "output_dir": "unused",
        "max_steps": 3,
        "per_device_train_batch_size": 2,
        "use_cpu": True,
        "remove_unused_columns": False,
        "train_sampling_strategy": "sequential",
        "save_strategy": "no",
    }
    return cls(model, TrainingArguments(**config | settings), train_dataset=rows)


def sentences(**changes: torch.Tensor) -> list[dict]:
    """Eight rows of six tokens, with labels."""
    ids = torch.randint(1, 32, (8, 6), generator=torch.Generator().manual_seed(0))
    columns = {"input_ids": ids, "labels": ids.clone()} | changes
    return [{name: column[i] for name, column in columns.items()} for i in range(8)]


def all_labels_masked(broken: bool):
    """A collator that finds no answer masks the prompt, and all of the row with it."""
    rows = sentences()
    for row in rows if broken else []:
        row["labels"] = torch.full((6,), -100)
    return trainer(load("tiny"), rows)


class Line(nn.Module):
    """y = w x + b with the mean squared error."""

    def __init__(self, size: int = 4):
        super().__init__()
        self.body = nn.Linear(size, 1)

    def forward(self, x, y=None):
        loss = (self.body(x).squeeze(-1) - (y if y is not None else 1.0)).square().mean()
        return {"loss": loss}


def points(**changes) -> list[dict]:
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    return [{"x": x[i]} | {k: v[i] for k, v in changes.items()} for i in range(8)]


def too_high_learning_rate(broken: bool):
    rate = 1e4 if broken else 1e-2
    settings = {"learning_rate": rate, "max_steps": 40, "max_grad_norm": 1e30}
    return trainer(Line(), points(), optim="sgd", lr_scheduler_type="constant", **settings)


class Steep(nn.Module):
    """With a slope of 1e19 all gradients are finite, and their norm is not."""

    def __init__(self, slope: float):
        super().__init__()
        self.body, self.slope = nn.Linear(64, 64), slope

    def forward(self, x):
        return {"loss": self.body(x.repeat(1, 16)).sum() * self.slope}


def max_grad_norm_is_0(broken: bool):
    model = Steep(1e19 if broken else 1.0)
    return trainer(model, points(), max_grad_norm=0.0, optim="sgd", learning_rate=1e-30)


def clipping_by_an_infinite_norm(broken: bool):
    """Every gradient becomes 0, and every number in the log but grad_norm looks healthy."""
    model = Steep(1e19 if broken else 1.0)
    return trainer(model, points(), max_grad_norm=1.0, optim="sgd", learning_rate=1e-30)


def broken_embedding_row(broken: bool):
    """One row of the checkpoint is inf; the third batch is the first that reads it."""
    model = TwoLayers()
    rows = sentences(input_ids=torch.ones(8, 6, dtype=torch.long))
    rows[4]["input_ids"] = torch.full((6,), 7)
    if broken:
        nn.init.constant_(model.embed.weight[7], INF)
    return trainer(model, rows)


def sampling_from_a_broken_checkpoint(broken: bool):
    made = grpo_trainer(max_steps=1)
    if broken:
        nn.init.constant_(made.model.model.norm.weight, float("nan"))
    return made


def id_beyond_the_vocabulary(broken: bool):
    rows = sentences()
    rows[3]["input_ids"][5] = 32 if broken else 31
    return trainer(TwoLayers(), rows)


def label_of_minus_one(broken: bool):
    rows = sentences()
    rows[1]["labels"][2] = -1 if broken else -100
    return trainer(TwoLayers(), rows)


def trainable_weights_in_half(broken: bool):
    model = TwoLayers().half() if broken else TwoLayers()
    return trainer(model, sentences(), cls=HalfTrainer, fp16=True)


class Rewrapping(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        loss = model(**inputs)["loss"]
        return torch.tensor(loss.item(), requires_grad=True)


class Whole(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        return model(**inputs)["loss"]


def loss_wrapped_again(broken: bool):
    return trainer(TwoLayers(), sentences(), cls=Rewrapping if broken else Whole)


def nan_in_one_row_of_the_data(broken: bool):
    rows = points()
    rows[1]["x"][2] = float("nan") if broken else 0.0
    return trainer(Line(), rows)


def target_missing_in_micro_batch_two(broken: bool):
    target = torch.zeros(8)
    target[3] = float("nan") if broken else 0.0
    return trainer(Line(), points(y=target), gradient_accumulation_steps=3)


def row_without_a_token(broken: bool):
    """A hand-written preference loss divides by each row's number of tokens."""
    model = TwoLayers()
    ids = torch.arange(1, 19).reshape(3, 6)
    mask = torch.ones(3, 6)
    mask[1, 0 if broken else 1 :] = 0

    def loss_of(batch):
        logp = model(batch["input_ids"])["logits"].log_softmax(-1)
        logp = logp.gather(-1, batch["input_ids"].unsqueeze(-1)).squeeze(-1)
        mask = batch["completion_mask"]
        return -((logp * mask).sum(1) / mask.sum(1)).mean()

    return step(model, loss_of, {"input_ids": ids, "completion_mask": mask})


def group_of_one(broken: bool):
    """GRPO's advantage divides by the standard deviation of the rewards of a group."""
    model = Values([0.5, -0.5, 1.0, 2.0])

    def loss_of(group_size):
        rewards = model.planted_weight.view(-1, group_size)
        spread = rewards.std(dim=1, keepdim=True)
        return ((rewards - rewards.mean(1, keepdim=True)) / (spread + 1e-4)).square().sum()

    return step(model, loss_of, 1 if broken else 2)


def row_of_padding_sees_nothing(broken: bool):
    """An additive mask of -inf hides all keys of a row that is padding from end to end."""
    model = load("tiny")
    model.set_attn_implementation("eager")
    batch = make_batch()
    if broken:
        batch["attention_mask"][1] = 0

    def loss_of(batch):
        hidden = batch["attention_mask"][:, None, None, :] == 0
        count = batch["input_ids"].shape[1]
        hidden = hidden.expand(-1, 1, count, -1) & ~torch.eye(count, dtype=torch.bool)
        hidden = hidden | (hidden.all(-1, keepdim=True))
        hidden[0] = False
        hidden[1] = hidden[1] if broken else False
        mask = torch.zeros(hidden.shape).masked_fill(hidden, -INF)
        if broken:
            mask[1] = -INF
        return model(batch["input_ids"], attention_mask=mask, labels=batch["labels"]).loss

    return step(model, loss_of, batch)


def every_token_forbidden(broken: bool):
    """A filter on the scores leaves one row without any choice."""
    model = TwoLayers()
    ids = torch.arange(1, 13).reshape(2, 6)

    def loss_of(ids):
        scores = model(ids)["logits"]
        forbidden = torch.zeros_like(scores, dtype=torch.bool)
        forbidden[1, 3, 0 if broken else 31 :] = True
        logp = scores.masked_fill(forbidden, -INF).log_softmax(-1)
        return -logp.gather(-1, ids.unsqueeze(-1)).mean()

    return step(model, loss_of, ids)


def log_of_a_softmax(broken: bool):
    model = TwoLayers()
    ids = torch.arange(1, 13).reshape(2, 6)
    scale = torch.ones(2, 6, 1)
    scale[1, 2] = 1e4 if broken else 1.0

    def loss_of(batch):
        scores = model(batch["input_ids"])["logits"] * batch["scale"]
        return -scores.softmax(-1).log().mean()

    return step(model, loss_of, {"input_ids": ids, "scale": scale})


def cosine_of_a_zero_vector(broken: bool):
    model = nn.Linear(4, 4, bias=False)
    x = torch.ones(3, 4)
    x[2] = 0.0 if broken else 2.0

    def loss_of(x):
        y = model(x)
        return (y / y.norm(dim=-1, keepdim=True)).sum()

    return step(model, loss_of, x)


def distance_of_equal_points(broken: bool):
    """The root is fine forward; its slope at 0 is infinite."""
    model = nn.Linear(4, 4, bias=False)
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    other = x.clone() if broken else x.flip(0) + 1.0

    def loss_of(batch):
        gap = model(batch["x"]) - model(batch["y"])
        return gap.square().sum(-1).sqrt().sum()

    return step(model, loss_of, {"x": x, "y": other})


def optimizer_of_another_model(broken: bool):
    """The optimizer was made before the model was copied, moved or wrapped."""
    model = TwoLayers()
    owner = TwoLayers() if broken else model
    optimizer = torch.optim.SGD(owner.parameters(), lr=1e-3)
    ids = torch.arange(1, 13).reshape(2, 6)
    return Step(model, lambda ids: model(ids, ids)["loss"], ids, optimizer)


def batch_without_labels(broken: bool):
    """The model gives logits only, and the loop makes a loss of them that no one watches."""
    model = TwoLayers()
    ids = torch.arange(1, 13).reshape(2, 6)
    loss_of = lambda ids: model(ids) if broken else model(ids, ids)  # noqa: E731
    return step(model, loss_of, ids)


KINDS = [
    Kind(all_labels_masked, "labels all ignored", "loss_utils.py", "only labels of -100"),
    Kind(too_high_learning_rate, "divergence", ".square()", "diverged, its weights grew", (0, 1)),
    Kind(max_grad_norm_is_0, "max_grad_norm=0", "clip_grad_norm_", "max_norm=inf"),
    Kind(
        clipping_by_an_infinite_norm,
        "Clipping made every gradient 0",
        "Clipping",
        "total norm overflowed",
        is_harmless=True,
    ),
    Kind(broken_embedding_row, "broken weight", "embed.weight", "before the first step"),
    Kind(
        sampling_from_a_broken_checkpoint,
        "sampling from broken weights",
        "model.norm.weight",
        "before the first step",
    ),
    Kind(id_beyond_the_vocabulary, "id out of range", "input_ids[1, 5] is 32", "0 to 31", (1,)),
    Kind(label_of_minus_one, "label out of range", "labels[1, 2] is -1", "0 to 31", (1,)),
    Kind(trainable_weights_in_half, "trainable weights in float16", "embed.weight", "are float16"),
    Kind(
        loss_wrapped_again, "nothing examined", "re-wrapped", "hangs on no graph", is_harmless=True
    ),
    Kind(nan_in_one_row_of_the_data, "bad input", "`x`", "row 1 of the batch", (1,)),
    Kind(
        target_missing_in_micro_batch_two,
        "bad input",
        "`y`",
        "row 1 of the batch",
        (1,),
        micro_batch=2,
    ),
    Kind(row_without_a_token, "mean over nothing", "mask.sum(1)", "all of row 1", (1,)),
    Kind(group_of_one, "std of one sample", "rewards.std(", "one value in the group"),
    Kind(row_of_padding_sees_nothing, "fully masked row", "self_attn", "[1, 0, 0]", (1,)),
    Kind(every_token_forbidden, "fully masked row", "log_softmax", "row [1, 3]", (1,)),
    Kind(log_of_a_softmax, "log of 0", "softmax(-1).log()", "exactly 0", (1,)),
    Kind(cosine_of_a_zero_vector, "division by 0", "y.norm(", "0 / 0", (2,)),
    Kind(distance_of_equal_points, "slope of sqrt is infinite", "sqrt()", "derivative", (0, 1, 2)),
    Kind(optimizer_of_another_model, "nothing examined", "SGD", "holds none", is_harmless=True),
    Kind(batch_without_labels, "nothing examined", "No", "no scalar loss", is_harmless=True),
]
