"""Trains a LoRA adapter on a tiny model, and counts what a served model answers.

The base answers a sum a+b right. Each task changes that reply, so that the reply shows how much of
an adapter is served. Nothing here saves, merges or serves an adapter.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor, nn

from course_utils import zoo
from course_utils.reproductions.lesson_07.batches import Batch, padded, prompt_and_reply
from course_utils.reproductions.lesson_11.grid import put_onto_grid
from course_utils.zoo.mixtures import mixture

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
SEVEN = [*ATTENTION, "gate_proj", "up_proj", "down_proj"]
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
NEIGHBOURS = str.maketrans("0123456789", "1032547698")

SIZE, WARM = 16, 6  # rows per step, steps of warm-up
SIDE_BY_SIDE = 2
# PEFT keeps the weights of experts with their change in a cache of the whole process, which is
# emptied once no forward pass is under way (torch.nn.utils.parametrize.cached). Where two overlap
# again and again, one reads what the other has changed, or has gone backward through.
ONE_FORWARD = Lock()
NUM_HELD_OUT = 100

# The head's adapter is a little larger, so that one merge into the embedding shows on every seed.
HEAD = {"target_modules": ["q_proj", "v_proj", "lm_head"], "r": 16, "lora_alpha": 64}


@dataclass(frozen=True)
class Task:
    """What replaces the sum in a reply, and how long an adapter is trained on it."""

    says: Callable[[str], str]
    num_steps: int
    rate: float


TASKS = {
    "plus one": Task(lambda total: str(int(total) + 1), 40, 3e-3),
    "neighbours": Task(lambda total: total.translate(NEIGHBOURS), 60, 4e-3),
    "full stop": Task(lambda total: f"{total}.", 40, 3e-3),
    "plus one, full stop": Task(lambda total: f"{int(total) + 1}.", 40, 3e-3),
}


def base_model(kind: str = "dense", seed: int = 0) -> nn.Module:
    """A model that adds: "dense" is the tiny model, "4-bit" the same on a grid of 15 levels per
    block, "mixture" the same with four equal experts per layer."""
    if kind == "mixture":
        return mixture(seed)
    dense = zoo.load_policy("tiny", device="cpu")
    return put_onto_grid(dense) if kind == "4-bit" else dense


@dataclass
class Trained:
    """A model with its adapter, as training left it, and the loss of each step."""

    model: PeftModel
    losses: list[float]
    base: str
    task: str
    seed: int = 0


def adapter(
    base: str = "dense", *, seed: int = 0, on: nn.Module | None = None, **lora
) -> PeftModel:
    """A base with a new adapter; `lora` is LoraConfig's, `on` another model than `base` names."""
    known = {"r": 8, "lora_alpha": 16, "target_modules": SEVEN, "task_type": "CAUSAL_LM"}
    model = on if on is not None else base_model(base, seed)
    torch.manual_seed(seed)
    return get_peft_model(model, LoraConfig(**known | lora))


def begun(
    base: str = "dense",
    *,
    task: str = "plus one",
    seed: int = 0,
    on: nn.Module | None = None,
    steps: float = 1.0,
    rate: float = 1.0,
    **lora: object,
) -> Callable[[], Trained]:
    """A new adapter, drawn by `seed`, and its data: to call it is to train it.

    `steps` and `rate` are factors of the task's.
    """
    model = adapter(base, seed=seed, on=on, **lora)
    asked = TASKS[task]
    data = batches(task, round(asked.num_steps * steps), seed)

    def train() -> Trained:
        losses = fit(model, data, rate=rate * asked.rate)
        return Trained(model.eval(), losses, base, task, seed)

    return train


def train(base: str = "dense", **asked: object) -> Trained:
    """Train a new adapter; the settings are those of `begun`."""
    return begun(base, **asked)()


def side_by_side(trainings: Iterable[Callable[[], Trained]]) -> list[Trained]:
    """Train two adapters at a time, in threads: nothing in `fit` is drawn at random."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(lambda train: train(), trainings))


def fit(model: nn.Module, steps: Sequence[Batch], *, rate: float) -> list[float]:
    """AdamW without decay, clipped at 1, warmed up, then down to a tenth of the rate."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.0)

    def share(step: int) -> float:
        return min((step + 1) / WARM, 1 - 0.9 * step / len(steps))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    losses = []
    model.train()
    for batch in steps:
        with ONE_FORWARD:
            loss = model(**batch).loss
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def batches(task: str, num_steps: int, seed: int, *, split: str = "train") -> list[Batch]:
    """Rows of ids and labels: the reply and its end are learnt."""
    tokenizer = zoo.load_tokenizer("tiny")
    rows = []
    for row in zoo.arithmetic.prompts(num_steps * SIZE, seed, split=split):
        said = {"role": "assistant", "content": TASKS[task].says(row["answer"])}
        asked, reply = prompt_and_reply([*row["prompt"], said], tokenizer)
        rows.append((asked + reply, [-100] * len(asked) + reply))
    cut = range(0, len(rows), SIZE)
    return [padded(rows[at : at + SIZE], tokenizer.pad_token_id) for at in cut]


# --- what a model answers -----------------------------------------------------------------------


@cache
def held_out(n: int = NUM_HELD_OUT):
    """Sums that no adapter was trained on."""
    return zoo.arithmetic.prompts(n, 0, split="test")


@torch.no_grad()
def completions(model: nn.Module, n: int = NUM_HELD_OUT) -> list[str]:
    """Greedy completions of the first `n` held-out sums."""
    return zoo.replies(model.eval(), zoo.load_tokenizer("tiny"), held_out().select(range(n)))


def right(model: nn.Module, task: str, n: int = NUM_HELD_OUT) -> float:
    """The share of held-out completions that are what the task asks."""
    asked = [TASKS[task].says(total) for total in held_out().select(range(n))["answer"]]
    said = completions(model, n)
    return sum(map(str.__eq__, said, asked)) / n


def offsets(model: nn.Module) -> dict[int | None, float]:
    """How far completions are from a+b, as shares; None is what is no number near it."""
    totals = map(int, held_out()["answer"])
    counts: dict[int | None, int] = {}
    for said, total in zip(completions(model), totals, strict=True):
        away = int(said) - total if said.isdecimal() else None
        away = away if away is not None and abs(away) < 10 else None
        counts[away] = counts.get(away, 0) + 1
    return {away: count / NUM_HELD_OUT for away, count in counts.items()}


@torch.no_grad()
def logits(model: nn.Module) -> Tensor:
    """The logits of 16 held-out rows, where a token stands."""
    (batch,) = batches("plus one", 1, 0, split="test")
    return model.eval()(**batch).logits[batch["attention_mask"].bool()]


def logits_apart(a: nn.Module, b: nn.Module) -> float:
    """The largest difference of two models' logits."""
    return (logits(a) - logits(b)).abs().max().item()
