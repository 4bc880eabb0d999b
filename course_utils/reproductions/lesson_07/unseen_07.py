"""Four fine-tuning scripts that somebody wrote by hand; each trains, and each serves rubbish.

A script is made of named parts, small functions that `fresh` can replace. Nothing here raises, and
nothing is judged.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from course_utils import zoo
from course_utils.reproductions import reported_script
from course_utils.reproductions.lesson_07 import unseen_parts as made
from course_utils.reproductions.lesson_07.never_stops import base_model, evaluating
from course_utils.reproductions.lesson_07.unseen_training import fit, preference_loss, reply_loss
from course_utils.reproductions.reported_script import Parts
from course_utils.shown.report import Table

NUM_STEPS, BATCH_SIZE, NUM_ASKED, LIMIT = 60, 16, 64, 12
CAUSES = {
    "a": "the end has no label",
    "b": "nothing puts an end after the replies",
    "c": "the end is truncated",
    "d": "generation waits for another token than the one that ends the replies",
    "e": "prompts are padded on the wrong side",
    "f": "the prompt at serving is not the prompt of the training",
    "g": "the prompt is in the loss",
}

Rows = list[dict[str, list[int]]]


# --- the run ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Ticket(reported_script.Ticket):
    """A fine-tuning script with its serving, on replies or on pairs of them."""

    causes = CAUSES
    imports = ("import torch", "from torch.nn.utils.rnn import pad_sequence")

    is_preference: bool = False

    def run(self, parts: Parts, seed: int) -> "Run":
        return Run(parts, seed, is_preference=self.is_preference)


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

    def __init__(self, parts: Parts, seed: int, *, is_preference: bool = False) -> None:
        self._parts, self._seed, self._is_preference = parts, seed, is_preference
        self.tokenizer: PreTrainedTokenizerBase = zoo.load_tokenizer("tiny")
        self.model: PreTrainedModel = base_model(seed=seed)
        self.served: dict[str, torch.Tensor] = {}  # what generate was given last
        self.num_generated = 0  # tokens a reply, padding included, that generate made last
        self.log: list[dict[str, float]] = []

    @cached_property
    def batches(self) -> list[dict[str, torch.Tensor]]:
        """Every batch of the run; with preferences, chosen replies and then the rejected ones."""
        size, end = BATCH_SIZE, self.tokenizer.eos_token
        if self._is_preference:
            size = BATCH_SIZE // 2
        sums = _with_three_digits(NUM_STEPS * size, self._seed, split="train")
        batches = []
        for start in range(0, len(sums), size):
            asked = sums[start : start + size]
            if self._is_preference:
                asked = asked + [(q, _another(a) + end) for q, a in asked]
            rows = [self._parts["encode"](q, a, self.tokenizer) for q, a in asked]
            batches.append(self._collated(rows))
        return batches

    @property
    def batch(self) -> dict[str, torch.Tensor]:
        return self.batches[0]

    def _collated(self, rows: Rows) -> dict[str, torch.Tensor]:
        return self._parts["collate"](rows, self.tokenizer.pad_token_id)

    def train(self) -> "Run":
        """Train on every batch once; the same batches on the same seed give the same weights."""
        key = _fingerprint(self.batches, self._seed)
        if key not in _TRAINED:
            loss_of = preference_loss if self._is_preference else reply_loss
            logged = fit(self.model, self.batches, loss_of)
            _TRAINED[key] = (self.model.state_dict(), logged)
        weights, logged = _TRAINED[key]
        self.model.load_state_dict(weights)
        seen = self._behaviour_of(key)
        for step in (1, NUM_STEPS // 2, NUM_STEPS):
            self.log.append({"step": step} | logged[step - 1])
        self.log[-1] |= {"ends": seen.ends, "right": seen.right}
        return self

    def _behaviour_of(self, key: str) -> "Served":
        """Of the same weights, the script's own `answer` gives the same replies: asked once."""
        answer = self._parts["answer"]
        if answer.__module__ != made.__name__:
            return self.behaviour()
        if (key, answer) not in _SERVED:
            _SERVED[key, answer] = (self.behaviour(), self.served, self.num_generated)
        seen, self.served, self.num_generated = _SERVED[key, answer]
        return seen

    def behaviour(self) -> "Served":
        """What the model does with held-out sums, read off the raw ids."""
        sums = _with_three_digits(NUM_ASKED, 7, split="test")
        questions, answers = zip(*sums, strict=True)
        new = self.ask(list(questions))
        pad, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token
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
            whole = generate(*args, **kwargs)
            if isinstance(whole, torch.Tensor) and "input_ids" in self.served:
                self.num_generated = whole.shape[1] - self.served["input_ids"].shape[1]
            return whole

        self.model.generate = noted
        try:
            with evaluating(self.model):
                return self._parts["answer"](self.model, self.tokenizer, questions, limit)
        finally:
            del self.model.generate

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        columns = tuple(dict.fromkeys(name for entry in self.log for name in entry))
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


def _another(answer: str) -> str:
    """A number of three digits that is not the answer."""
    return str(100 + (int(answer) + 37) % 100)


_TRAINED: dict[str, tuple[dict, list[dict[str, float]]]] = {}


_SERVED: dict[tuple[str, Callable], tuple[Served, dict[str, torch.Tensor], int]] = {}


def _fingerprint(batches: list[dict], seed: int) -> str:
    digest = hashlib.sha256(str(seed).encode())
    for batch in batches:
        for key in sorted(batch):
            digest.update(f"{key} {tuple(batch[key].shape)}".encode())
            digest.update(batch[key].numpy().tobytes())
    return digest.hexdigest()


def no_room_for_the_end() -> Ticket:
    """Replies that are as long as the data's longest answer, and no longer."""
    report = (
        "A hand-written SFT script on a base model. The loss is near 0 from the first step on;\n"
        "the first three digits are right, and every reply goes on to the limit."
    )
    return Ticket(report, made.HEALTHY | {"encode": made.encode_within_the_room})


def stops_at_the_base_end() -> Ticket:
    """A model that has learnt to stop, and a server that does not notice."""
    report = (
        "A hand-written SFT script on a base model, served with the base model's settings. The\n"
        "loss falls; every reply goes on to the limit."
    )
    return Ticket(report, made.HEALTHY | {"answer": made.answer_as_the_base_does})


def one_line_end_short() -> Ticket:
    """A server that renders the prompt by hand."""
    report = (
        "A hand-written SFT script on a base model, served by a small server of our own. The loss\n"
        "falls; the replies are wrong, though in training they were right."
    )
    return Ticket(report, made.HEALTHY | {"answer": made.answer_by_hand})


def ends_on_one_side() -> Ticket:
    """Pairs of a written answer and a sampled one, of which the sampled one brings its end."""
    report = (
        "A hand-written preference run on a base model (DPO's loss plus the loss of the chosen\n"
        "replies). Chosen answers were typed in, rejected ones sampled. Loss and margin look\n"
        "healthy, and every reply goes on to the limit."
    )
    return Ticket(report, made.HEALTHY | {"encode": made.encode_as_it_came}, is_preference=True)
