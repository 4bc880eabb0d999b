"""An adapter on a mixture of experts, trained, merged and served: sums in a digit code."""

from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 640
# Each digit of an answer becomes its neighbour. The base answers in plain digits, so a reply shows
# how much of the adapter is served; attention alone does not learn it.
CODE = str.maketrans("0123456789", "1032547698")


def coded(n: int, seed: int, split: str) -> list:
    """Sums of two numbers, no question twice, with answers in the code."""
    from course_utils.oncall.measuring import Sum, sums  # takes seconds

    drawn = sums(n, level="easy", seed=seed, split=split)
    return [Sum(one.question, one.answer.translate(CODE)) for one in drawn]


def base(seed: int) -> dict[str, bytes]:
    from course_utils.oncall.templates.export_serve import mixture

    return mixture.base(seed)


def rows(seed: int) -> dict[str, Rows]:
    return {"data/train.jsonl": [vars(one) for one in coded(NUM_ROWS, seed, "train")]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served
    from course_utils.oncall.templates.export_serve.mixture import Mixture

    own, tests = Mixture(result.files, result.base), coded(128, 7, "test")
    return served(own, tests, most=12) | {"loss": loss(own, tests)}


TEMPLATE = Template(
    name="export_serve",
    about="A small mixture of experts learns to give sums in a digit code, with a LoRA adapter "
    "that is then exported for the server.",
    base=base,
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("model", "max_steps", "batch_size", "lora_r"),
)
