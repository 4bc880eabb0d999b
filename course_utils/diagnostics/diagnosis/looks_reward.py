"""Asks a reward function for the price of replies that do not do the task.

Calls the run's own reward functions on a handful of texts, and puts back what that changes.
"""

from collections.abc import Callable
from statistics import fmean
from typing import Any

from torch import nn

from course_utils.diagnostics.diagnosis.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.putting_back import put_back
from course_utils.diagnostics.diagnosis.subject import POLICY, Subject

NUM_ROWS = 4
PAID = 0.95  # of the best reward: what junk must not reach
JUNK: dict[str, Callable[[str, str], str]] = {  # prompt and the row's own answer -> a reply
    "an empty reply": lambda prompt, answer: "",
    "the prompt again": lambda prompt, answer: prompt,
    "a list of all numbers": lambda prompt, answer: " ".join(map(str, range(1000))),
    "the answer inside other digits": lambda prompt, answer: f"7{answer}7",
    "empty tags": lambda prompt, answer: "<think></think><answer></answer> \\boxed{}",
}


def look_at_rewards(subject: Subject, sheet: Sheet) -> None:
    functions = getattr(subject.trainer, "reward_funcs", None)
    if subject.kind != POLICY or not functions:
        return
    with sheet.trying("what the reward pays for"):
        rows = _rows(subject.trainer)
        answers = [_answer_of(row) for row in rows]
        with put_back(subject):
            best = _scores(subject.trainer, rows, answers)
            junk = {
                name: _scores(
                    subject.trainer,
                    rows,
                    [
                        make(_text_of(row["prompt"]), a)
                        for row, a in zip(rows, answers, strict=True)
                    ],
                )
                for name, make in JUNK.items()
            }
            longer = _scores(subject.trainer, rows, [f"{a} " + "and " * 40 for a in answers])
        _judge(best, junk, longer, sheet)


def _rows(trainer: Any) -> list[dict]:
    data = trainer.train_dataset
    return [dict(data[i]) for i in range(min(NUM_ROWS, len(data)))]


def _answer_of(row: dict) -> str:
    """The row's own answer: its first short text besides the prompt; "" where it has none."""
    texts = [v for k, v in row.items() if k != "prompt" and isinstance(v, str | int | float)]
    return str(texts[0]) if texts else ""


def _text_of(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else " ".join(turn["content"] for turn in prompt)


def _scores(trainer: Any, rows: list[dict], replies: list[str]) -> dict[str, float]:
    """The mean of each reward function over the rows, by its name."""
    is_chat = not isinstance(rows[0]["prompt"], str)
    said = [[{"role": "assistant", "content": r}] for r in replies] if is_chat else replies
    found = {}
    for name, function in zip(trainer.reward_func_names, trainer.reward_funcs, strict=True):
        if isinstance(function, nn.Module):
            continue
        columns = {k: [row[k] for row in rows] for k in rows[0] if k != "prompt"}
        ids = [trainer.processing_class(r, add_special_tokens=False)["input_ids"] for r in replies]
        scores = function(
            prompts=[row["prompt"] for row in rows],
            completions=said,
            completion_ids=ids,
            trainer_state=trainer.state,
            **columns,
        )
        known = [float(score) for score in scores if score is not None]
        if known:
            found[name] = fmean(known)
    return found


def _judge(best: dict, junk: dict[str, dict], longer: dict, sheet: Sheet) -> None:
    """A function that pays junk as it pays the answer; one that pays for length."""
    if not best:
        sheet.miss("what the reward pays for", "it is a model, or scores none of these texts")
        return
    for name, price in best.items():
        paid = {what: scores[name] for what, scores in junk.items() if name in scores}
        if not paid:
            continue
        top = max(paid, key=paid.__getitem__)
        if {price, *paid.values(), longer.get(name, price)} == {price}:
            sheet.miss(f"reward {name}", f"it pays {price:.3g} for every text that was tried")
            continue
        said = f"{name} pays {paid[top]:.3g} for {top}, and {price:.3g} for the row's own answer"
        spread = max(abs(price), *map(abs, paid.values()))
        is_best = price > 0 and paid[top] <= price  # else the row's answer is not what is paid
        if is_best and price > min(paid.values()) and paid[top] >= PAID * price:
            sheet.find("reward_pays_junk", MEASURED, said, place=name)
        elif longer.get(name, price) > price + 0.1 * spread and price > 0:
            text = f"{name} pays {longer[name]:.3g} for the answer and forty words more, "
            sheet.find("length_into_limit", LIKELY, text + f"{price:.3g} for it alone", place=name)
        else:
            sheet.clear(f"reward {name}", f"pays at most {paid[top]:.3g} for junk")
