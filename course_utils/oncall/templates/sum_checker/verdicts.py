"""Measures a classifier of two classes as a server would use it: by the names in its config."""

import json

import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForSequenceClassification

from course_utils.oncall.declare import Rows
from course_utils.oncall.result import MODEL, NothingMade, Result, filled

BATCH, NUM_ALONE = 64, 96
VERDICTS = {"right", "wrong"}


@torch.no_grad()
def told(result: Result, rows: Rows) -> dict[str, float]:
    """Shares of the rows that the classifier tells right, in batches and alone.

    Raises:
        NothingMade: its config names no padding token, or other classes.
    """
    names, pad = _said(result)
    config = Qwen2Config(**json.loads(result.base["config.json"]) | {"pad_token_id": pad})
    config.num_labels = len(names)
    model = filled(Qwen2ForSequenceClassification(config), result.weights)
    true = [row["verdict"] for row in rows]
    found = _verdicts(model, result, rows, names, BATCH)
    alone = _verdicts(model, result, rows[:NUM_ALONE], names, 1)
    wrong = [said for said, verdict in zip(found, true, strict=True) if verdict == "wrong"]
    return {
        "told": _share(found, true),
        "wrong": wrong.count("wrong") / len(wrong),
        "alone": _share(alone, true[:NUM_ALONE]),
    }


def _said(result: Result) -> tuple[dict[int, str], int]:
    """The classes by number and the padding token, as the exported config names them."""
    try:
        said = json.loads(result.files[f"{MODEL}/config.json"])
        names = {int(number): str(name) for number, name in said["id2label"].items()}
        pad = int(said["pad_token_id"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NothingMade(f"{MODEL}/config.json names no classes or no padding token") from error
    if set(names) != {0, 1} or set(names.values()) != VERDICTS:
        raise NothingMade(f"the classes of {MODEL}/config.json are not right and wrong")
    return names, pad


def _verdicts(
    model: nn.Module, result: Result, rows: Rows, names: dict[int, str], size: int
) -> list[str]:
    texts = [_chat(result.own_tokenizer, row) for row in rows]
    found = []
    for at in range(0, len(texts), size):
        batch = result.own_tokenizer(
            texts[at : at + size], padding=True, padding_side="right", return_tensors="pt"
        )
        found += model(**batch).logits.argmax(-1).tolist()
    return [names[number] for number in found]


def _chat(tokenizer, row: dict) -> str:
    chat = [
        {"role": "user", "content": row["question"]},
        {"role": "assistant", "content": row["reply"]},
    ]
    return tokenizer.apply_chat_template(chat, tokenize=False)


def _share(found: list[str], true: list[str]) -> float:
    return sum(a == b for a, b in zip(found, true, strict=True)) / len(true)
