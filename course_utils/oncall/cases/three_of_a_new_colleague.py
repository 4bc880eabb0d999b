"""A frozen adapter, then a learning rate far too high, then another end token."""

from course_utils.oncall.cases import load
from course_utils.oncall.declare import Case

ALONE = (
    "adapter_loaded_to_look_at",
    "rate_of_another_optimizer",
    "end_named_in_the_settings",
)

CASE = Case(
    id="three_of_a_new_colleague",
    level=3,
    template="sft_lora",
    ticket="My first week here, my first job, and it dies with a traceback. I have read the "
    "documentation of all the libraries involved and adopted what it recommends. My "
    "mentor said that with me the traceback is usually only the beginning. He is on "
    "holiday until August.",
    faults=tuple(load(name).faults[0] for name in ALONE),
)
