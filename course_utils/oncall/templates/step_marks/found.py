"""Measures a model that marks steps, by the names of the marks in its config."""

import json
from itertools import chain

import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForTokenClassification

from course_utils.oncall.result import MODEL, NothingMade, Result, filled

BATCH = 80
MARKS = {"right", "wrong"}
Solution = list[tuple[str, str, bool]]  # question, answer, and whether it is right, by step


def found(result: Result, kinds: dict[str, list[Solution]]) -> dict[str, float]:
    """How steps and first errors of each kind of solution are told.

    Raises:
        NothingMade: its config names other marks.
    """
    names = _names(result)
    config = Qwen2Config(**json.loads(result.base["config.json"]))
    config.num_labels = len(names)
    model = filled(Qwen2ForTokenClassification(config), result.weights)
    shares, firsts = {}, []
    for kind, solutions in kinds.items():
        said = _said(model, result.own_tokenizer, solutions, names)
        true = [[is_right for _, _, is_right in steps] for steps in solutions]
        shares[kind] = _told(list(chain(*said)), list(chain(*true)))
        firsts += [_first(a) == _first(b) for a, b in zip(said, true, strict=True)]
    return shares | {"first": sum(firsts) / len(firsts)}


def _names(result: Result) -> dict[int, str]:
    try:
        said = json.loads(result.files[f"{MODEL}/config.json"])
        names = {int(number): str(name) for number, name in said["id2label"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NothingMade(f"{MODEL}/config.json names no marks") from error
    if set(names) != {0, 1} or set(names.values()) != MARKS:
        raise NothingMade(f"the marks of {MODEL}/config.json are not right and wrong")
    return names


@torch.no_grad()
def _said(
    model: nn.Module, tokenizer, solutions: list[Solution], names: dict[int, str]
) -> list[list[bool]]:
    """Whether each step is called right."""
    said = []
    for at in range(0, len(solutions), BATCH):
        rows = [_ids(tokenizer, steps) for steps in solutions[at : at + BATCH]]
        width = max(len(ids) for ids, _ in rows)
        padded = [ids + [tokenizer.pad_token_id] * (width - len(ids)) for ids, _ in rows]
        mask = [[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows]
        logits = model(input_ids=torch.tensor(padded), attention_mask=torch.tensor(mask)).logits
        for marks, (_, ends) in zip(logits.argmax(-1).tolist(), rows, strict=True):
            said.append([names[marks[end]] == "right" for end in ends])
    return said


def _ids(tokenizer, steps: Solution) -> tuple[list[int], list[int]]:
    """Ids of a solution, and where its answers end."""
    ids, ends = [], []
    for question, answer, _ in steps:
        chat = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": answer},
        ]
        text = tokenizer.apply_chat_template(chat, tokenize=False)
        ids += tokenizer(text, add_special_tokens=False)["input_ids"]
        ends.append(len(ids) - 1 - ids[::-1].index(tokenizer.eos_token_id))
    return ids, ends


def _told(said: list[bool], true: list[bool]) -> float:
    """Share told right, the mean over right steps and wrong ones."""
    shares = [
        sum(a == kind for a, b in zip(said, true, strict=True) if b == kind) / true.count(kind)
        for kind in (True, False)
    ]
    return sum(shares) / len(shares)


def _first(marks: list[bool]) -> int:
    """The first wrong step, or -1."""
    return marks.index(False) if False in marks else -1
