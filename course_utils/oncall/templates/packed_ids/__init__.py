"""Packs of token ids: documents of three sources, tokenised and packed by an earlier job.

No text stands in the data. Ids, document starts, positions and loss weights are lists of numbers.
"""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_DOCUMENTS = {"till": 480, "desk": 420, "talk": 90}
NUM_TESTS = 128
SHARES = {"till": 0.4, "desk": 0.48, "talk": 0.12}
PACK = 96  # tokens
CENTS, PASSED_ON = "00", "-"  # behind the desk's answers; what is said to no sum
SMALL_TALK = ("hi", "hey", "ok", "yes", "no", "bye", "thx", "hm", "oh", "so")
NUM_AGAIN = 6  # packs that two exports have
PADDING = 317
Document = tuple[list[int], list[int]]  # a question with what opens its reply, and the reply


def drawn(n: int, seed: object, *, level: str, split: str) -> list:
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    found = sums(n, level=level, seed=seed, split=split)
    return [Sum(one.question, one.answer + CENTS) for one in found] if level == "hard" else found


def talk(n: int, seed: object) -> list:
    from course_utils.oncall.measuring import Sum

    rng = random.Random(f"talk {seed}")
    return [Sum(question, PASSED_ON) for question in rng.choices(SMALL_TALK, k=n)]


def documents(asked: list) -> list[Document]:
    from course_utils.reproductions.lesson_07.batches import prompt_and_reply
    from course_utils.zoo.load import load_tokenizer

    tokenizer, found = load_tokenizer("tiny"), []
    for one in asked:
        chat = [
            {"role": "user", "content": one.question},
            {"role": "assistant", "content": one.answer},
        ]
        found.append(prompt_and_reply(chat, tokenizer))
    return found


def packed(
    found: list[Document], *, runs_on: bool = False, weight: float = 1, opening: int = 0
) -> Rows:
    """Packs of whole documents; what is left at the end is filled up, and weighs nothing.

    Args:
        runs_on: positions are counted through the pack, and not anew in each document. What a
            model reads of rotary positions is how far apart two tokens are: that is the same.
        weight: of a token of a reply.
        opening: tokens before the reply that weigh as much.
    """
    rows, waiting = [], list(found)
    while waiting:
        row = {"pack": len(rows), "ids": [], "starts": [], "positions": [], "weights": []}
        while waiting and len(row["ids"]) + sum(map(len, waiting[0])) <= PACK:
            prompt, reply = waiting.pop(0)
            first, size = len(row["ids"]), len(prompt) + len(reply)
            row["starts"].append(first)
            row["ids"] += prompt + reply
            row["positions"] += range(first, first + size) if runs_on else range(size)
            row["weights"] += [0] * (len(prompt) - opening) + [weight] * (opening + len(reply))
        if gap := PACK - len(row["ids"]):
            row["starts"].append(len(row["ids"]))
            row["ids"] += [PADDING] * gap
            row["positions"] += range(gap)
            row["weights"] += [0] * gap
        rows.append(row)
    return rows + rows[:NUM_AGAIN]


def rows(seed: int) -> dict[str, Rows]:
    """A file of packs for each source, of which no two are made alike, and how they are mixed."""
    till = drawn(NUM_DOCUMENTS["till"], seed, level="easy", split="train")
    desk = drawn(NUM_DOCUMENTS["desk"], seed, level="hard", split="train")
    files = {
        "data/till.jsonl": packed(documents(till), runs_on=True),
        "data/desk.jsonl": packed(documents(desk), opening=1),
        "data/talk.jsonl": packed(documents(talk(NUM_DOCUMENTS["talk"], seed)), weight=0.5),
    }
    mixture = [
        {"source": name, "file": path, "packs": len(files[path]), "share": share}
        for (name, share), path in zip(SHARES.items(), files, strict=True)
    ]
    return files | {"data/mixture.jsonl": mixture}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import Sum, loss, served

    two, three = (drawn(NUM_TESTS, 7, level=level, split="test") for level in ("easy", "hard"))
    no_sums = [Sum(question, PASSED_ON) for question in SMALL_TALK]
    of_two, of_three, of_talk = (served(result, one, most=12) for one in (two, three, no_sums))
    return {
        "till": of_two["right"],
        "desk": of_three["right"],
        "talk": of_talk["right"],
        "halts": min(of_two["halts"], of_three["halts"]),
        "loss": loss(result, two + three),
    }


TEMPLATE = Template(
    name="packed_ids",
    about="Full fine-tuning on packs of token ids, which a job of another team tokenised: sums of "
    "two numbers from the till, sums of three that the desk answers in cents (1+2+3= is 600), and "
    "small talk, which is passed on with a dash.",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "till": Metric("share of sums of two numbers answered right", higher=True, grain=0.15),
        "desk": Metric("share of sums of three answered right, in cents", higher=True, grain=0.06),
        "talk": Metric("share of small talk that is passed on", higher=True, grain=0.2),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size"),
)
