"""A token outside the table, then too long a warm-up, then an adapter saved too early."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "padding_beyond_the_table",
    "warm_up_of_the_big_run",
    "adapter_saved_before_training",
)

CASE = Case(
    id="three_before_the_release",
    level=3,
    template="sft_lora",
    ticket="Three of us have touched this job in the last ten days, each for a good reason and "
    "none with a test. At present it does not even get going. The release is on Friday; "
    "when it gets going I expect the usual quality, please do not stop at the first sign "
    "of life.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
