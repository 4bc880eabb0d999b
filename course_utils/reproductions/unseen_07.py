"""Three fine-tuning scripts that somebody wrote by hand; each trains, and each serves rubbish.

A script is made of named parts, small functions that `fresh` can replace. Nothing here raises, and
nothing is judged.
"""

import hashlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from course_utils import zoo
from course_utils.report import Table
from course_utils.reproductions.never_stops import base_model, evaluating
from course_utils.working import track

NUM_STEPS, BATCH_SIZE, NUM_ASKED, LIMIT = 60, 16, 64, 12
CAUSES = {
    "a": "the end has no label",
    "b": "nobody puts an end behind the replies",
    "c": "the end is cut off",
    "d": "generation stops at another token than the replies end with",
    "e": "prompts are padded on the wrong side",
    "f": "the prompt at serving is not the one of the training",
    "g": "the prompt is in the loss",
}

Parts = dict[str, Callable]
Rows = list[dict[str, list[int]]]


# --- the parts: one script, in which one part or another is at fault --------------------------


def encode(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = tokenizer(answer + tokenizer.eos_token)["input_ids"]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def encode_within_the_room(question, answer, tokenizer):
    """One row: the chat's ids, and labels for the reply alone."""
    room_for_the_reply = 3  # no sum of the data has more digits
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(prompt)["input_ids"]
    reply = tokenizer(answer + tokenizer.eos_token)["input_ids"][:room_for_the_reply]
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + reply}


def collate(rows, pad):
    """A batch, padded on the right; no padding is learnt."""
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence([torch.ones_like(i) for i in ids], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


def answer(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    chats = [[{"role": "user", "content": question}] for question in questions]
    asked = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


def answer_as_the_base_does(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    chats = [[{"role": "user", "content": question}] for question in questions]
    asked = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    of_the_base = tokenizer.convert_tokens_to_ids("<|endoftext|>")  # its generation_config.json
    ends = {"eos_token_id": of_the_base, "pad_token_id": of_the_base}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


def answer_by_hand(model, tokenizer, questions, limit):
    """The ids of each reply, greedily, at most `limit` of them."""
    asked = [f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant" for q in questions]
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = model.generate(**batch, max_new_tokens=limit, do_sample=False, **ends)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


HEALTHY: Parts = {"encode": encode, "collate": collate, "answer": answer}


# --- the run ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ticket:
    """What the owner of a script reports, and the script to look into."""

    report: str
    parts: Parts = field(repr=False)

    def fresh(self, seed: int = 0, **changes: Callable) -> "Run":
        """The run from its start, with other functions in place of the named parts."""
        return Run(self.parts | changes, seed)

    def source(self) -> str:
        """The code of every part, after a line that imports what the parts use."""
        imports = "import torch\nfrom torch.nn.utils.rnn import pad_sequence\n"
        return "\n".join([imports, *map(inspect.getsource, self.parts.values())])

    def __repr__(self) -> str:
        causes = "\n".join(f"  {letter}) {cause}" for letter, cause in CAUSES.items())
        return f"{self.report}\nPlaces: {', '.join(self.parts)}.\nCauses:\n{causes}"


@dataclass(frozen=True)
class Served:
    """What came out of the part `answer`; shares from 0 to 1."""

    ends: float  # the first end is the last token: nothing follows it
    right: float  # the number that the reply begins with is the sum
    replies: tuple[str, ...]


def without_padding(ids: list[int], pad: int) -> list[int]:
    """
    >>> without_padding([4, 2, 0, 0], pad=0)
    [4, 2]
    """
    return ids[: max((at + 1 for at, token in enumerate(ids) if token != pad), default=0)]


class Run:
    """One run: rows, batches, a model to train, and what it answers."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts, self._seed = parts, seed
        self.tokenizer: PreTrainedTokenizerBase = zoo.load_tokenizer("tiny")
        self.model: PreTrainedModel = base_model(seed=seed)
        sums = _with_three_digits(NUM_STEPS * BATCH_SIZE, seed, split="train")
        rows = [parts["encode"](q, a, self.tokenizer) for q, a in sums]
        starts = range(0, len(rows), BATCH_SIZE)
        self.batches = [self._collated(rows[s : s + BATCH_SIZE]) for s in starts]
        self.batch = self.batches[0]
        self.served: dict[str, torch.Tensor] = {}  # what generate was given last
        self.log: list[dict[str, float]] = []

    def _collated(self, rows: Rows) -> dict[str, torch.Tensor]:
        return self._parts["collate"](rows, self.tokenizer.pad_token_id)

    def train(self) -> "Run":
        """Train on every batch once; the same batches on the same seed give the same weights."""
        key = _fingerprint(self.batches, self._seed)
        if key not in _TRAINED:
            losses = _fit(self.model, self.batches)
            _TRAINED[key] = (self.model.state_dict(), losses)
        weights, losses = _TRAINED[key]
        self.model.load_state_dict(weights)
        seen = self.behaviour()
        for step in (1, NUM_STEPS // 2, NUM_STEPS):
            self.log.append({"step": step, "loss": losses[step - 1]})
        self.log[-1] |= {"ends": seen.ends, "right": seen.right}
        return self

    def behaviour(self) -> "Served":
        """What the model does with held-out sums, read off the raw ids."""
        sums = _with_three_digits(NUM_ASKED, 7, split="test")
        questions, answers = zip(*sums, strict=True)
        new, pad, end = (
            self.ask(list(questions)),
            self.tokenizer.pad_token_id,
            self.tokenizer.eos_token,
        )
        said = [self.tokenizer.decode(without_padding(ids, pad)) for ids in new]
        ends = sum(text.partition(end)[1:] == (end, "") for text in said) / len(said)
        right = sum(re.match(r"\d*", t)[0] == a for t, a in zip(said, answers, strict=True))
        return Served(ends, right / len(said), tuple(said))

    def ask(self, questions: list[str], limit: int = LIMIT) -> list[list[int]]:
        """What the part `answer` gives; what it gave to generate is kept in `served`."""
        generate = self.model.generate

        def noted(*args, **kwargs):
            batch = {**(args[0] if args and isinstance(args[0], dict) else {}), **kwargs}
            self.served = {k: v for k, v in batch.items() if isinstance(v, torch.Tensor)}
            return generate(*args, **kwargs)

        self.model.generate = noted
        try:
            with evaluating(self.model):
                return self._parts["answer"](self.model, self.tokenizer, questions, limit)
        finally:
            del self.model.generate

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        columns = ("step", "loss", "ends", "right")
        rows = [tuple(_cell(entry, column) for column in columns) for entry in self.log]
        return Table(columns=columns, rows=rows)._repr_mimebundle_()


def _cell(entry: dict[str, float], column: str) -> str:
    if column not in entry:
        return "-"
    return f"{entry[column]:.0%}" if column in ("ends", "right") else f"{entry[column]:.3g}"


def _with_three_digits(n: int, seed: int, *, split: str) -> list[tuple[str, str]]:
    """Questions and answers of which no answer is shorter than three digits."""
    drawn = zoo.arithmetic.prompts(min(3 * n, 700) if split == "test" else 3 * n, seed, split=split)
    pairs = [(row["prompt"][0]["content"], row["answer"]) for row in drawn]
    return [(question, answer) for question, answer in pairs if len(answer) == 3][:n]


_TRAINED: dict[str, tuple[dict, list[float]]] = {}


def _fingerprint(batches: list[dict], seed: int) -> str:
    digest = hashlib.sha256(str(seed).encode())
    for batch in batches:
        for key in sorted(batch):
            digest.update(f"{key} {tuple(batch[key].shape)}".encode())
            digest.update(batch[key].numpy().tobytes())
    return digest.hexdigest()


def _fit(model: PreTrainedModel, batches: list[dict]) -> list[float]:
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    model.train()
    for step, batch in enumerate(track(batches, "training")):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 - step / len(batches))
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def no_room_for_the_end() -> Ticket:
    """Replies that are as long as the data's longest answer, and no longer."""
    report = (
        "A hand-written SFT script on a base model. The loss falls to almost nothing; the first\n"
        "three digits are right, and every reply goes on to the limit."
    )
    return Ticket(report, HEALTHY | {"encode": encode_within_the_room})


def stops_at_the_base_end() -> Ticket:
    """A model that has learnt to stop, and a server that does not notice."""
    report = (
        "A hand-written SFT script on a base model, served with the settings of the base. The\n"
        "loss falls to almost nothing; every reply goes on to the limit."
    )
    return Ticket(report, HEALTHY | {"answer": answer_as_the_base_does})


def one_line_end_short() -> Ticket:
    """A server that renders the prompt by hand."""
    report = (
        "A hand-written SFT script on a base model, served by a small server of our own. The loss\n"
        "falls to almost nothing; the replies are wrong, though in training they were right."
    )
    return Ticket(report, HEALTHY | {"answer": answer_by_hand})
