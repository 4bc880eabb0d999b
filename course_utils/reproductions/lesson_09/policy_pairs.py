"""Pairs of a sampler and a trainer that disagree for one known reason, or for two. Judges nothing.

Each is drawn by a seed: other sums, other settings, off any grid.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.diagnostics.policies.comparing import PolicyComparison, compare_policies
from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp
from course_utils.diagnostics.policies.scoring import Ids, tokens_of
from course_utils.reproductions.lesson_09.engine import Engine, Logps, quantise

NUM_PROMPTS, LENGTH = 64, 6
SYSTEM = {"role": "system", "content": "You are a helpful assistant that adds numbers."}


@dataclass
class Pair:
    """Both sides, the trained model, and earlier weights if some were kept."""

    sampler: Engine
    trainer: "Scorer"
    prompts: Ids
    snapshots: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    @property
    def model(self) -> nn.Module:
        return self.trainer.model

    def compare(self) -> PolicyComparison:
        sampler = lambda prompts: self.sampler(prompts, length=LENGTH)  # noqa: E731
        return compare_policies(
            sampler, self.trainer, self.prompts, model=self.model, snapshots=self.snapshots
        )


@dataclass
class Scorer:
    """The trainer's log-probs of replies, with possible faults on the way.

    Args:
        front: ids that the trainer puts before each prompt.
        fault: "mask", "positions", "padding" (its positions count), "shift" or "scale"; "" is none.
        again: whether replies are decoded and encoded before they are scored.
    """

    model: nn.Module
    decoding: Decoding = field(default_factory=Decoding)
    front: list[int] = field(default_factory=list)
    fault: str = ""
    again: bool = False
    gap: int = 0

    def __call__(self, prompts: Ids, replies: Ids) -> tuple[Ids, Logps]:
        if self.again:
            tokenizer = zoo.load_tokenizer("tiny")
            replies = [tokenizer(text)["input_ids"] for text in tokenizer.batch_decode(replies)]
        asked = [self.front + prompt for prompt in prompts]
        if self.fault in ("mask", "positions", "padding"):
            logps = self._padded(asked, replies)
        else:
            tokens = tokens_of(self.model, asked, replies)
            warped = warp(tokens.logits_NV, tokens.seen_NV, self.decoding)
            logps = iter(logps_of(warped, tokens.ids_N).tolist())
            logps = [[next(logps) for _ in reply] for reply in replies]
        if self.fault == "scale":  # divided by 0.8, behind the softmax
            logps = [[value / 0.8 for value in row] for row in logps]
        if self.fault == "shift":
            flat = [value for row in logps for value in row]
            turned = iter([flat[-1], *flat[:-1]])
            logps = [[next(turned) for _ in reply] for reply in replies]
        return replies, logps

    @torch.no_grad()
    def _padded(self, asked: Ids, replies: Ids) -> Logps:
        """A loop's scores of a batch padded on the left, without its mask or with a gap."""
        tokenizer = zoo.load_tokenizer("tiny")
        most = max(map(len, replies))
        padded = [r + [tokenizer.pad_token_id] * (most - len(r)) for r in replies]
        both = tokenizer.pad({"input_ids": asked}, padding_side="left", return_tensors="pt")
        ids = torch.cat([both["input_ids"], torch.tensor(padded)], 1)
        mask = torch.cat([both["attention_mask"], torch.ones(len(ids), most, dtype=int)], 1)
        mask = torch.ones_like(mask) if self.fault == "mask" else mask
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        if self.fault == "padding":
            places = torch.arange(ids.shape[1]).repeat(len(ids), 1)
        places[:, -most:] += self.gap
        logits = self.model(input_ids=ids, attention_mask=mask, position_ids=places).logits
        logps = logits[:, -most - 1 : -1].float().log_softmax(-1)
        logps = logps.gather(-1, ids[:, -most:, None])[..., 0].tolist()
        return [row[: len(reply)] for row, reply in zip(logps, replies, strict=True)]


def prompts_of(seed: int, num: int = NUM_PROMPTS) -> Ids:
    """Hard sums as the chat template writes them, each as token ids."""
    sums = zoo.arithmetic.prompts(num, seed, level="hard")
    tokenizer = zoo.load_tokenizer("tiny")
    return tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, return_dict=False
    )


def take_steps(model: nn.Module, num: int, seed: int, *, rate: float = 3e-4) -> list[dict]:
    """The weights before each of `num` AdamW steps that learn right answers."""
    sums = zoo.arithmetic.prompts(24 * num, seed + 500, level="hard")
    tokenizer, states = zoo.load_tokenizer("tiny"), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    asked = prompts_of(seed + 500, 24 * num)
    for step in range(num):
        states.append({name: value.clone() for name, value in model.state_dict().items()})
        rows = range(24 * step, 24 * step + 24)
        texts = [sums["answer"][n] + tokenizer.eos_token for n in rows]
        replies = [tokenizer(text)["input_ids"] for text in texts]
        width = max(len(asked[n]) + len(r) for n, r in zip(rows, replies, strict=True))
        ids, labels = [], []
        for n, reply in zip(rows, replies, strict=True):
            back = width - len(asked[n]) - len(reply)
            ids.append(asked[n] + reply + [tokenizer.pad_token_id] * back)
            labels.append([-100] * len(asked[n]) + reply + [-100] * back)
        optimizer.zero_grad()
        model(input_ids=torch.tensor(ids), labels=torch.tensor(labels)).loss.backward()
        optimizer.step()
    return states


def pair(cause: str, seed: int, *, steps: int = 0) -> Pair:
    """The pair of this name in `CAUSES`; with `steps`, after some steps whose weights are kept."""
    draw = random.Random(f"{cause} {seed}")
    model = zoo.load_policy("tiny", device="cpu").eval()
    made = CAUSES[cause](model, draw, seed)
    if steps and not made.snapshots:
        states = enumerate(reversed(take_steps(model, steps, seed)), start=1)
        made.snapshots = {f"{age} steps old": state for age, state in states}
        made.sampler.sync(model)
    made.sampler.generator.manual_seed(seed)
    made.prompts = prompts_of(seed)
    return made


def _same(sampler: dict | None = None, **trainer: object) -> Callable:
    """A pair whose settings are the same for every seed."""

    def build(model: nn.Module, draw: random.Random, seed: int) -> Pair:
        return Pair(Engine(**sampler or {}), Scorer(model, **trainer), [])

    return build


def _decoded(on_both: bool = False, dtype: str = "float32", **ranges: tuple[float, float]):
    """A sampler with settings drawn from these ranges; whole numbers stay whole."""

    def build(model: nn.Module, draw: random.Random, seed: int) -> Pair:
        drawn = {
            name: draw.randint(*pair) if isinstance(pair[0], int) else draw.uniform(*pair)
            for name, pair in ranges.items()
        }
        decoding = Decoding(**drawn)
        scorer = Scorer(model, decoding) if on_both else Scorer(model)
        return Pair(Engine(decoding, dtype=dtype), scorer, [])

    return build


def _hot_or_cold(dtype: str = "float32", **ranges: tuple[float, float]):
    """The same sampler, with a temperature that is not near 1."""

    def build(model: nn.Module, draw: random.Random, seed: int) -> Pair:
        low_high = (0.5, 0.93) if draw.random() < 0.5 else (1.08, 1.6)
        return _decoded(dtype=dtype, temperature=low_high, **ranges)(model, draw, seed)

    return build


def _stale(num_kept: int = 4, dtype: str = "float32", **ranges: tuple[float, float]):
    """A sampler whose weights are one to four steps old."""

    def build(model: nn.Module, draw: random.Random, seed: int) -> Pair:
        behind = draw.randint(1, 4)
        states = take_steps(model, behind, seed)
        made = _decoded(dtype=dtype, **ranges)(model, draw, seed)
        made.sampler.model.load_state_dict(states[0])
        kept = list(enumerate(reversed(states), start=1))[:num_kept]
        made.snapshots = {f"{n} steps old": state for n, state in kept}
        return made

    return build


def _with_system_prompt(model: nn.Module, draw: random.Random, seed: int) -> Pair:
    front = zoo.load_tokenizer("tiny").apply_chat_template([SYSTEM], return_dict=False)
    return Pair(Engine(), Scorer(model, front=front), [])


def _with_a_gap(model: nn.Module, draw: random.Random, seed: int) -> Pair:
    return Pair(Engine(), Scorer(model, fault="positions", gap=draw.choice((1, 2, 4, 8))), [])


def _noisy(model: nn.Module, draw: random.Random, seed: int) -> Pair:
    """Weights rounded in a way that no hypothesis covers: 5 bits per row."""
    return Pair(Engine(change=lambda served: quantise(served, bits=5)), Scorer(model), [])


CAUSES = {
    "healthy": _same(),
    "healthy at another temperature": _decoded(on_both=True, temperature=(0.5, 1.4)),
    "healthy with top_p": _decoded(on_both=True, top_p=(0.7, 0.95)),
    "temperature": _hot_or_cold(),
    "top_p": _decoded(top_p=(0.6, 0.93)),
    "top_k": _decoded(top_k=(2, 5)),
    "min_p": _decoded(min_p=(0.05, 0.3)),
    "repetition penalty": _decoded(repetition_penalty=(1.05, 1.4)),
    "temperature and top_p": _hot_or_cold(top_p=(0.6, 0.9)),
    "bfloat16": _same({"dtype": "bfloat16"}),
    "float16": _same({"dtype": "float16"}),
    "int8": _same({"change": quantise}),
    "temperature and bfloat16": _hot_or_cold(dtype="bfloat16"),
    "stale": _stale(),
    "stale and temperature": _stale(temperature=(0.5, 0.9)),
    "stale, no weights kept": _stale(num_kept=0),
    "5 bits": _noisy,
    "mask forgotten": _same(fault="mask"),
    "positions": _with_a_gap,
    "system prompt": _with_system_prompt,
    "shifted": _same(fault="shift"),
    "divided after the softmax": _same({"decoding": Decoding(temperature=0.8)}, fault="scale"),
    "retokenised": _same({"decoding": Decoding(temperature=2.5)}, again=True),
}
