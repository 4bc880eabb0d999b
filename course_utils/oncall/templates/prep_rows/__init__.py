"""Data preparation: two sources of different layouts, made into one set of rows and trained on."""

import random
from functools import partial

from course_utils.oncall.bases import noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_SHEET, NUM_DESK, NUM_CHECKS, NUM_TESTS = 480, 420, 48, 128
NUM_AGAIN = 24  # rows that two exports have
CENTS = "00"  # behind the desk's answers
FIRST_OF_DESK, FIRST_OF_CHECKS = 70_000, 90_000  # ids are those of one register


def drawn(n: int, seed: object, *, level: str, split: str) -> list:
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    found = sums(n, level=level, seed=seed, split=split)
    return [Sum(one.question, one.answer + CENTS) for one in found] if level == "hard" else found


def sheet(seed: int) -> Rows:
    """Sums that people filled in; a quarter is wrong and has a bad grade."""
    rng, rows = random.Random(f"sheet {seed}"), []
    for number, one in enumerate(drawn(NUM_SHEET, seed, level="easy", split="train"), start=1):
        answer, grade = int(one.answer), rng.choice((4, 5))
        if rng.random() < 0.25:
            answer, grade = answer + rng.choice((-10, -2, -1, 1, 2, 10)), rng.choice((1, 2))
        question = one.question.replace("+", rng.choice(("+", " + ")))
        row = {"id": number, "question": question, "answer": str(answer), "grade": grade}
        rows.append(row)
    return rows + rows[:NUM_AGAIN]


def desk(seed: int) -> Rows:
    """Sums of three numbers that people asked at the desk, as ids of whole chats."""
    from course_utils.reproductions.lesson_07.batches import prompt_and_reply
    from course_utils.zoo.load import load_tokenizer

    tokenizer, rows = load_tokenizer("tiny"), []
    for number, one in enumerate(drawn(NUM_DESK, seed, level="hard", split="train")):
        chat = [
            {"role": "user", "content": one.question},
            {"role": "assistant", "content": one.answer},
        ]
        prompt, reply = prompt_and_reply(chat, tokenizer)
        row = {"id": FIRST_OF_DESK + number, "tokens": prompt + reply, "reply_at": len(prompt)}
        rows.append(row)
    return rows + rows[:NUM_AGAIN]


def checks(seed: int) -> Rows:
    """Sums of both kinds, one after the other."""
    both = [
        drawn(NUM_CHECKS // 2, f"{seed} checks", level=level, split="train")
        for level in ("easy", "hard")
    ]
    mixed = [one for pair in zip(*both, strict=True) for one in pair]
    return [
        {"id": FIRST_OF_CHECKS + number, "question": one.question, "answer": one.answer}
        for number, one in enumerate(mixed)
    ]


def rows(seed: int) -> dict[str, Rows]:
    return {
        "data/sheet.jsonl": sheet(seed),
        "data/desk.jsonl": desk(seed),
        "data/checks.jsonl": checks(seed),
    }


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served

    two, three = (drawn(NUM_TESTS, 7, level=level, split="test") for level in ("easy", "hard"))
    of_two, of_three = (served(result, tests, most=12) for tests in (two, three))
    return {
        "sheet": of_two["right"],
        "desk": of_three["right"],
        "halts": min(of_two["halts"], of_three["halts"]),
        "loss": loss(result, two + three),
    }


TEMPLATE = Template(
    name="prep_rows",
    about="Full fine-tuning on two sources: sums of two numbers from a sheet, and sums of three "
    "that the desk answers in cents (1+2+3= is 600).",
    base=partial(noisy, noise=0.05, forgets_end=True),
    rows=rows,
    measure=measure,
    metrics={
        "sheet": Metric("share of sums of two numbers answered right", higher=True, grain=0.06),
        "desk": Metric("share of sums of three answered right, in cents", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size"),
)
