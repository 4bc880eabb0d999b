"""Rows cut on one host, then layers in no bucket, then a checkpoint of one part."""

from course_utils.oncall.cases import (
    layers_in_no_bucket,
    one_of_two_parts,
    rows_cut_on_one_host,
)
from course_utils.oncall.declare import Case, Edit

CASE = Case(
    id="three_between_two_machines",
    level=3,
    template="two_ranks",
    ticket="Two machines, two people who set them up, and a summer between them. I have the second "
    "one's notes and nobody's memory. It gets prices wrong, and it gets plain sums wrong too. "
    "Twice I thought that I had it; please go on until all of it adds as it should.",
    faults=(
        *rows_cut_on_one_host.CASE.faults,
        *layers_in_no_bucket.CASE.faults,
        *one_of_two_parts.CASE.faults,
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 8", "warmup_steps: 16"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
