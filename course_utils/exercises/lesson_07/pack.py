"""Exercise 07.6: rows in one sequence that do not see each other."""

from collections.abc import Callable, Mapping
from functools import cache

import torch

from course_utils import zoo
from course_utils.checks.declare import Criterion, Exercise
from course_utils.reproductions.lesson_07.batches import prompt_and_reply, sums

SEEDS = (0, 3)
# Besides the usual keys, what the padding-free collators of TRL and transformers add.
KEYS = {"input_ids", "labels", "position_ids", "attention_mask", "seq_idx"} | {
    f"{what}_{side}" for what in ("cu_seq_lens", "max_length") for side in "qk"
}


@cache
def _model():
    return zoo.load_policy("tiny", device="cpu").eval()


@cache
def _cases() -> dict[str, list[dict]]:
    """Rows whose replies alone are learnt, whole chats, and one row alone."""
    tokenizer, cases = zoo.load_tokenizer("tiny"), {}
    for seed in SEEDS:
        rows = [prompt_and_reply(chat, tokenizer) for chat in sums(seed)]
        replies = [{"input_ids": a + s, "labels": [-100] * len(a) + s} for a, s in rows]
        cases[f"four rows (seed {seed})"] = replies
        whole = [{"input_ids": r["input_ids"], "labels": list(r["input_ids"])} for r in replies]
        cases[f"four whole chats (seed {seed})"] = whole
    return cases | {"one row": replies[:1]}


@cache
def _alone(case: str) -> tuple[torch.Tensor, float]:
    """What the rows give one at a time: their logits, and the mean loss over all labels."""
    logits, losses, count = [], 0.0, 0
    with torch.no_grad():
        for row in _cases()[case]:
            ids, labels = (torch.tensor([row[k]]) for k in ("input_ids", "labels"))
            out = _model()(input_ids=ids, labels=labels)
            n = int((labels[:, 1:] != -100).sum())
            logits.append(out.logits[0])
            losses, count = losses + out.loss.item() * n, count + n
    return torch.cat(logits), losses / count


def _num_labels(case: str) -> int:
    """How many labels the rows have that a token before them can predict."""
    return sum(label != -100 for row in _cases()[case] for label in row["labels"][1:])


def _packed(pack: Callable, case: str) -> dict:
    return pack([{k: list(v) for k, v in row.items()} for row in _cases()[case]])


def _over_cases(look: Callable) -> Callable:
    def over_all(pack) -> str | None:
        for case in _cases():
            if seen := look(_packed(pack, case), case):
                return f"for {case} {seen}"
        return None

    over_all.__name__ = look.__name__
    return over_all


@_over_cases
def is_one_sequence(batch, case: str) -> str | None:
    ids = [token for row in _cases()[case] for token in row["input_ids"]]
    if not isinstance(batch, Mapping):
        return f"it returns a {type(batch).__name__}; a dict of tensors is needed"
    missing = {"input_ids", "labels"} - set(batch)
    if missing:
        return f"{sorted(missing)[0]} is missing"
    for key in ("input_ids", "labels"):
        shape = tuple(getattr(batch[key], "shape", ()))
        if shape != (1, len(ids)):
            return f"{key} has shape {shape}; one row of all {len(ids)} tokens is needed"
    unknown = set(batch) - KEYS
    return f"this exercise does not use {sorted(unknown)[0]!r}; leave it out" if unknown else None


@_over_cases
def keeps_the_order(batch, case: str) -> str | None:
    ids = [token for row in _cases()[case] for token in row["input_ids"]]
    return (
        None
        if batch["input_ids"][0].tolist() == ids
        else "the ids are not those of the rows in order"
    )


def _run(batch: dict):
    with torch.no_grad():
        return _model()(**batch, use_cache=False)


@_over_cases
def sees_one_document(batch, case: str) -> str | None:
    try:
        logits = _run({k: v for k, v in batch.items() if k != "labels"}).logits[0]
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return f"the model raises {str(error).splitlines()[0]}"
    apart = (logits - _alone(case)[0]).abs().max().item()
    return (
        None if apart < 1e-3 else f"logits differ by up to {apart:.2g} from those of the rows alone"
    )


@_over_cases
def has_the_same_loss(batch, case: str) -> str | None:
    got, want = _run(batch).loss.item(), _alone(case)[1]
    if abs(got - want) <= 1e-3 * max(want, 1e-2):
        return None
    mine, right = int((batch["labels"][:, 1:] != -100).sum()), _num_labels(case)
    return (
        f"the loss is {got:.4f}, a mean over {mine} labels; the rows alone have {want:.4f} "
        f"over {right}"
    )


def with_positions(rows):
    ids, labels, positions = [], [], []
    for row in rows:
        ids += row["input_ids"]
        labels += [-100, *row["labels"][1:]]
        positions += range(len(row["input_ids"]))
    batch = {"input_ids": ids, "labels": labels, "position_ids": positions}
    return {key: torch.tensor([value]) for key, value in batch.items()}


PACK = Exercise(
    id="07.6",
    name="PACK",
    title="Packed rows that do not see each other",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="pack",
    expects=(Callable,),
    hints=(
        "How would the first token of the second row know that it is the first?",
        "Its position can be 0 again. Then ask which label the first token of each row may have.",
        "Join ids and labels. The positions of each row are range(len(ids)). The first label of "
        "each row must not be learnt from the row before. What does a mask of ones tell the model?",
    ),
    form=is_one_sequence,
    criteria=(
        Criterion(
            "It holds every token, row after row.",
            keeps_the_order,
            why="a text with tokens left out or moved is another text",
            next="join the rows' ids",
        ),
        Criterion(
            "Every token gets the logits that it gets alone.",
            sees_one_document,
            why="a row that sees the row before it is answered with another question in view",
            next="try position ids that start again at each row, with and without a mask",
        ),
        Criterion(
            "The loss equals that of the rows alone.",
            has_the_same_loss,
            why="if the first token of a row has a label, the last token of the row before must "
            "predict it",
            next="compare your labels with those of the rows, one by one: only the first label "
            "of a row may change, to -100",
        ),
    ),
    answer=with_positions,
)
