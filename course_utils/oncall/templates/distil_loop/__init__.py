"""A hand-written loop that distils a teacher's next-token distributions into a worse student."""

from course_utils.oncall.bases import FOLDER, noisy
from course_utils.oncall.declare import Metric, Rows, Template

NUM_ROWS = 512
OF_THE_TEACHER = ("config.json", "model.safetensors")


def base(seed: int) -> dict[str, bytes]:
    """The student, and beside it the teacher: the shipped model, as it is."""
    teacher = {f"teacher/{name}": (FOLDER / name).read_bytes() for name in OF_THE_TEACHER}
    return noisy(seed, noise=1.0) | teacher


def rows(seed: int) -> dict[str, Rows]:
    """Questions and answers; three sums of two numbers to each sum of three."""
    from course_utils.oncall.templates.own_loop import mixed

    return {"data/train.jsonl": [vars(one) for one in mixed(NUM_ROWS, seed, split="train")]}


def measure(result) -> dict[str, float]:
    from course_utils.oncall.measuring import loss, served
    from course_utils.oncall.templates.own_loop import mixed

    tests = mixed(128, 7, split="test")
    return served(result, tests, most=16) | {"loss": loss(result, tests)}


TEMPLATE = Template(
    name="distil_loop",
    about="A small model is distilled from a better one on sums, with a loop of our own: it learns "
    "the teacher's distribution of each token of the reply.",
    base=base,
    rows=rows,
    measure=measure,
    metrics={
        "right": Metric("share of held-out questions answered right", higher=True, grain=0.06),
        "halts": Metric("share of replies that end by themselves", higher=True, grain=0.04),
        "loss": Metric("loss on held-out replies, nats a token", higher=False, grain=0.02),
    },
    sizes=("student", "teacher", "max_steps", "batch_size"),
)
