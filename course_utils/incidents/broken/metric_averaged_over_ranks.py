"""An accuracy that is averaged over two ranks with unequal numbers of rows."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, batches, reply_row
from course_utils.incidents.two_ranks import of_two_ranks
from course_utils.reproductions.lesson_07.batches import Batch, padded
from course_utils.reproductions.two_processes import WORLD

STEPS, SIZE, EVERY, RATE = 20, 8, 4, 3e-4
TESTED = (56, 8)  # rows of the test file of each rank: sums, and sums with a gap
OLD_OF = 8  # one row of so many is of the old kind in training
LOST = 0.05  # of all test rows


def _rows(n: int, seed: int, split: str, *, is_new: bool) -> list[Row]:
    """Sums; of the new kind are those with a number missing, and the answer is 0."""
    tokenizer, drawn = zoo.load_tokenizer("tiny"), zoo.arithmetic.prompts(n, seed, split=split)
    rows = []
    for row in drawn:
        (asked,) = row["prompt"]
        chat = asked | {"content": asked["content"] + "?" * is_new}
        said = "0" if is_new else row["answer"]
        rows.append(reply_row([chat, {"role": "assistant", "content": said}], tokenizer))
    return rows


@torch.no_grad()
def share_right(model: nn.Module, batch: Batch) -> float:
    """The share of rows whose reply is the model's first choice, token by token."""
    labels = batch["labels"][:, 1:]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    choice = model(**inputs).logits[:, :-1].argmax(-1)
    return ((choice == labels) | (labels == -100)).all(1).float().mean().item()


def _reported(value: float, count: int, *, counted: bool) -> float:
    """What the two ranks agree on: right rows by rows, or the mean of two shares."""
    sums = torch.tensor([value * count, count] if counted else [value, 1.0], dtype=torch.float64)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def _build(*, seed: int, counted: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    pad, number = tokenizer.pad_token_id, STEPS * SIZE * WORLD
    old = _rows(number // OLD_OF, seed, "train", is_new=False)
    new = _rows(number - len(old), seed + 1, "train", is_new=True)
    shares = [
        [*new[at * (OLD_OF - 1) : (at + 1) * (OLD_OF - 1)], old[at]] for at in range(len(old))
    ]
    steps = batches([row for share in shares for row in share], SIZE, pad)
    tested = [
        padded(_rows(n, seed + 2, "test", is_new=bool(rank)), pad) for rank, n in enumerate(TESTED)
    ]

    def train(rank: int) -> list[dict]:
        wrapped = DistributedDataParallel(model)
        optimizer, log = torch.optim.AdamW(wrapped.parameters(), lr=RATE), []
        for number, batch in enumerate(steps[rank::WORLD]):
            if number % EVERY == 0:
                log.append({"step": number} | _evaluated(model, tested[rank], counted=counted))
            loss = wrapped(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            log.append({"step": number + 1, "loss": loss.item()})
        return [*log, {"step": STEPS} | _evaluated(model, tested[rank], counted=counted)]

    run = of_two_ranks(model, train, steps[0])
    run.facts = lambda: _kept(run.log)
    return run


def _evaluated(model: nn.Module, batch: Batch, *, counted: bool) -> dict[str, float]:
    """The number of both ranks, and those of each, as rank 0 logs them."""
    own = share_right(model, batch)
    each: list = [None] * WORLD
    dist.all_gather_object(each, (own, len(batch["labels"])))
    row = {"eval_accuracy": _reported(own, len(batch["labels"]), counted=counted)}
    for rank, (value, count) in enumerate(each):
        row |= {f"eval_accuracy/rank_{rank}": value, f"eval_rows/rank_{rank}": count}
    return row


def _kept(log: list[dict]) -> dict[str, float]:
    """The share of all test rows that the kept checkpoint gets right, and the best one."""
    judged = [row for row in log if "eval_accuracy" in row]
    kept = max(judged, key=lambda row: row["eval_accuracy"])
    return {"kept": _over_rows(kept), "best": max(map(_over_rows, judged))}


def _over_rows(row: dict) -> float:
    pairs = [(row[f"eval_accuracy/rank_{r}"], row[f"eval_rows/rank_{r}"]) for r in range(WORLD)]
    return sum(share * count for share, count in pairs) / sum(count for _, count in pairs)


INCIDENT = Incident(
    name="metric_averaged_over_ranks",
    title="an accuracy averaged over ranks",
    kind="metric",
    says="On two GPUs eval_accuracy rises and the best checkpoint is kept, but over the whole test "
    "set it is worse than an earlier one.",
    cause="Each rank divides by its own number of rows, and the shares are averaged: a rank with "
    "8 rows counts as much as one with 56.",
    fix="Add up right rows and rows over the ranks, and divide once.",
    threads=("trl#6380", "prime-rl#3182"),
    make=Variants(_build, broken={"counted": False}, twin={"counted": True}),
    shows=lambda run: run.facts()["kept"] < run.facts()["best"] - LOST,
    causes=("metric_by_rank",),
    place="eval_accuracy",
)
