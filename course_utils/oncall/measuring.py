"""Measures what a run made, on held-out data. Shape letters: B row, T token, V vocabulary."""

import json
from dataclasses import dataclass

import torch
import transformers
from torch import Tensor, nn

from course_utils import zoo
from course_utils.oncall.result import MODEL, NothingMade, Result, filled
from course_utils.reproductions.lesson_07.batches import padded, prompt_and_reply

BATCH, NUM_ALONE = 64, 96


@dataclass(frozen=True)
class Sum:
    """A question with the reply that should come."""

    question: str
    answer: str


def sums(n: int, *, level: str, seed: int = 7, split: str = "test") -> list[Sum]:
    """Sums that no training set holds."""
    drawn = zoo.arithmetic.prompts(n, seed, level=level, split=split)
    return [Sum(row["prompt"][-1]["content"], row["answer"]) for row in drawn]


@torch.no_grad()
def asked(
    result: Result, questions: list[str], *, most: int, sample: bool = False
) -> list[tuple[str, bool]]:
    """Raw replies as a server would give them, and whether each ended by itself.

    Greedy unless sampled, with the same noise for every model.
    """
    said, ends, texts = [], set(result.ends), result.asked(questions)
    generator = torch.Generator().manual_seed(0)
    for start in range(0, len(texts), BATCH):
        batch = result.ids(texts[start : start + BATCH])
        new_BT = _generated(result, batch, most, generator if sample else None)
        said += [(result.text(row), row[-1] in ends) for row in new_BT]
    return said


def _generated(result: Result, batch, most: int, generator: torch.Generator | None):
    """New ids of each row, cut behind the end."""
    ids, mask, cache = batch["input_ids"], batch["attention_mask"], None
    ends, rows = set(result.ends), [[] for _ in ids]
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    new, open_B = ids, torch.ones(len(ids), dtype=torch.bool)
    for _ in range(most):
        output = result.model(
            input_ids=new,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
        )
        cache, logits = output.past_key_values, output.logits[:, -1]
        token = logits.argmax(-1) if generator is None else _sampled(logits, generator)
        for row, value, is_open in zip(rows, token.tolist(), open_B.tolist(), strict=True):
            row += [value] if is_open else []
        open_B &= torch.tensor([value not in ends for value in token.tolist()])
        if not open_B.any():
            break
        new, positions = token[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, torch.ones_like(new)], 1)
    return rows


def _sampled(logits_BV: Tensor, generator: torch.Generator) -> Tensor:
    return torch.multinomial(logits_BV.softmax(-1), 1, generator=generator)[:, 0]


def served(result: Result, tests: list[Sum], *, most: int, sample: bool = False) -> dict:
    """Shares of replies that are right, and that end by themselves before `most` tokens."""
    end = result.own_tokenizer.eos_token
    said = asked(result, [one.question for one in tests], most=most, sample=sample)
    pairs = zip(said, tests, strict=True)
    right = [reply.partition(end)[0].strip() == one.answer for (reply, _), one in pairs]
    return {"right": _mean(right), "halts": _mean([has_ended for _, has_ended in said])}


@torch.no_grad()
def loss(result: Result, tests: list[Sum]) -> float:
    """Nats for each token of the right replies and their ends, in the base's own template."""
    tokenizer, total, count = result.own_tokenizer, 0.0, 0
    rows = [_labelled(tokenizer, one.question, one.answer) for one in tests]
    for start in range(0, len(rows), BATCH):
        batch = padded(rows[start : start + BATCH], tokenizer.pad_token_id)
        num = int((batch["labels"][:, 1:] != -100).sum())
        total += num * result.model(**batch).loss.item()
        count += num
    return total / count


def _mean(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def pairs(
    n: int, *, seed: int, split: str, rejected: str = "digit", level: str = "easy"
) -> list[dict]:
    """Questions with a right and a wrong reply, as rows."""
    drawn = zoo.arithmetic.preferences(
        n, seed, level=level, split=split, rejected=rejected, chat=False
    )
    names = {"question": "prompt", "chosen": "chosen", "rejected": "rejected"}
    return [{name: row[key] for name, key in names.items()} for row in drawn]


@torch.no_grad()
def _reply_logps(model: nn.Module, tokenizer, chats: list[tuple[str, str]]) -> Tensor:
    """Log-probability of each reply with its end, (B,), in nats."""
    found = []
    for start in range(0, len(chats), BATCH):
        rows = [_labelled(tokenizer, *chat) for chat in chats[start : start + BATCH]]
        batch = padded(rows, tokenizer.pad_token_id)
        labels = batch.pop("labels")[:, 1:]
        logps = model(**batch).logits[:, :-1].log_softmax(-1)
        of_token = logps.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        found.append((of_token * (labels != -100)).sum(-1))
    return torch.cat(found)


def _labelled(tokenizer, question: str, answer: str) -> tuple[list[int], list[int]]:
    chat = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    prompt, reply = prompt_and_reply(chat, tokenizer)
    return prompt + reply, [-100] * len(prompt) + reply


def preferred(result: Result, rows: list[dict]) -> dict[str, float]:
    """Share of pairs of which the wanted reply is likelier, and the mean gain over the base."""
    start = filled(transformers.Qwen2ForCausalLM(result.config), result.start)
    gaps = []
    for model in (result.model, start):
        good, bad = (
            _reply_logps(model, result.own_tokenizer, [(r["question"], r[key]) for r in rows])
            for key in ("chosen", "rejected")
        )
        gaps.append(good - bad)
    now, before = gaps
    return {
        "preferred": (now > 0).float().mean().item(),
        "margin": (now - before).mean().item(),
    }


@torch.no_grad()
def scored(result: Result, rows: list[dict]) -> dict[str, float]:
    """How a reward model orders pairs, together and one reply a batch, and its loss on them."""
    try:
        said = json.loads(result.files[f"{MODEL}/config.json"])
        pad = int(said["pad_token_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise NothingMade(f"{MODEL}/config.json gives no padding token") from error
    config = transformers.Qwen2Config(
        **json.loads(result.base["config.json"]) | {"pad_token_id": pad}
    )
    config.num_labels = 1
    model = filled(transformers.Qwen2ForSequenceClassification(config), result.weights)
    together = _gaps(model, result.own_tokenizer, rows, BATCH)
    alone = _gaps(model, result.own_tokenizer, rows[:NUM_ALONE], 1)
    return {
        "ordered": (together > 0).float().mean().item(),
        "alone": (alone > 0).float().mean().item(),
        "loss": -torch.nn.functional.logsigmoid(together).mean().item(),
    }


def _gaps(model: nn.Module, tokenizer, rows: list[dict], size: int) -> Tensor:
    scores = []
    for key in ("chosen", "rejected"):
        texts = [
            tokenizer.apply_chat_template(
                [
                    {"role": "user", "content": row["question"]},
                    {"role": "assistant", "content": row[key]},
                ],
                tokenize=False,
            )
            for row in rows
        ]
        parts = [texts[at : at + size] for at in range(0, len(texts), size)]
        batches = (
            tokenizer(part, padding=True, padding_side="right", return_tensors="pt")
            for part in parts
        )
        scores.append(torch.cat([model(**batch).logits[:, 0] for batch in batches]))
    return scores[0] - scores[1]
