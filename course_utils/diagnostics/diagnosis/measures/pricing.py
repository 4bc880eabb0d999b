"""Calls a run's reward functions on given texts, and restores what the calls change."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from torch import nn

from course_utils.diagnostics.libraries.trl import accepted, reward_names

NUM_ROWS = 4
ANSWER = re.compile(r"answer|solution|target|gold|truth|expected|label", re.IGNORECASE)
Make = Callable[[str, str], str]  # of prompt and the row's own answer, a reply
LISTED = "the answers of all rows, one behind the other"
EMPTY, PLAIN, OF_ANOTHER = "an empty reply", "the row's own answer", "another row's answer"
JUNK: dict[str, Make] = {
    EMPTY: lambda prompt, answer: "",
    "the prompt again": lambda prompt, answer: prompt,
    "a list of all numbers": lambda prompt, answer: " ".join(map(str, range(1000))),
    "the answer inside other digits": lambda prompt, answer: f"7{answer}7",
    "empty tags": lambda prompt, answer: "<think></think><answer></answer> \\boxed{}",
}
FORMS: dict[str, Make] = {  # in which verifiers want a right answer
    PLAIN: lambda prompt, answer: answer,
    "the answer behind </think>": lambda prompt, answer: f"<think></think> {answer}",
    "the answer in <answer>": lambda prompt, answer: f"<answer>{answer}</answer>",
    "the answer in \\boxed{}": lambda prompt, answer: f"\\boxed{{{answer}}}",
    "the answer behind ####": lambda prompt, answer: f"#### {answer}",
}
LONGER = "the answer and forty words more"
TEXTS = FORMS | JUNK | {LONGER: lambda prompt, answer: f"{answer} " + "and " * 40}


@dataclass(frozen=True)
class Prices:
    """The scores of one reward function, by text: for each row a score, or None."""

    name: str
    weight: float
    answers: list[str]  # of the rows, as the data set has them
    scores: dict[str, list[float | None]]

    def of(self, text: str) -> float | None:
        """The mean over the rows that were scored, None if none was."""
        known = [score for score in self.scores[text] if score is not None]
        return fmean(known) + 0.0 if known else None  # and no -0

    def rows_that_pay(self, text: str, price: float) -> int:
        return sum(score is not None and score >= price for score in self.scores[text])

    @property
    def is_flat(self) -> bool:
        """Whether no row's score depends on the text."""
        return all(len(set(of_row)) == 1 for of_row in zip(*self.scores.values(), strict=True))


def prices(trainer: Any) -> list[Prices]:
    """The scores of each reward function of a GRPOTrainer that is not a model."""
    data = trainer.train_dataset
    rows = [dict(data[i]) for i in range(min(NUM_ROWS, len(data)))]
    answers = [answer_of(row) for row in rows]
    asked = [_text_of(row["prompt"]) for row in rows]
    said = {
        name: [make(prompt, answer) for prompt, answer in zip(asked, answers, strict=True)]
        for name, make in TEXTS.items()
    } | {
        OF_ANOTHER: [*answers[1:], answers[0]],
        LISTED: [" ".join(dict.fromkeys(answers))] * len(rows),
    }
    weights = getattr(trainer, "reward_weights", None)
    names, found = reward_names(trainer), []
    for i, function in enumerate(trainer.reward_funcs):
        if isinstance(function, nn.Module):
            continue
        scores = {text: _scores(trainer, function, rows, made) for text, made in said.items()}
        weight = float(weights[i]) if weights is not None else 1.0
        found.append(Prices(names[i], weight, answers, scores))
    return found


def answer_of(row: dict) -> str:
    """The row's own answer; "" if there is none."""
    name = answer_column(row)
    return str(row[name]) if name else ""


def answer_column(row: dict) -> str:
    """The column of the answer: the first short text, beside the prompt, that is called one, or
    the first at all; "" if there is none.

    >>> answer_column({"prompt": "2 + 2", "draft": "5", "answer": "4"})
    'answer'
    """
    names = [k for k, v in row.items() if k != "prompt" and isinstance(v, str | int | float)]
    called = [name for name in names if ANSWER.search(name)]
    return next(iter(called + names), "")


def _text_of(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else " ".join(turn["content"] for turn in prompt)


def _scores(trainer: Any, function: Callable, rows: list[dict], replies: list[str]) -> list:
    """One score per row, as the function gives it."""
    is_chat = not isinstance(rows[0]["prompt"], str)
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "prompt"}
    tokenize = trainer.processing_class
    ids = [tokenize(r, add_special_tokens=False)["input_ids"] for r in replies]
    extras = {"completion_ids": ids, "trainer_state": trainer.state}
    scores = function(
        prompts=[row["prompt"] for row in rows],
        completions=[[{"role": "assistant", "content": r}] for r in replies]
        if is_chat
        else replies,
        **accepted(function, extras),
        **columns,
    )
    return [None if score is None else float(score) for score in scores]
