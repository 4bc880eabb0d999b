"""Rows are cut at a length that the reply does not fit into."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="rows_cut_at_the_prompt",
    level=1,
    template="sft_lora",
    ticket="We halved the memory of this job, and the run is faster and its log looks odd: I "
    "cannot say that anything is learnt. The model that comes out answers as the checkpoint did "
    "before. No error, no warning that I could see.",
    faults=(
        Fault(
            like="prompt_fills_the_room",
            plant=(Edit("config.yaml", "max_length: 64", "max_length: 14"),),
            cause="The rows are cut at max_length, so little or nothing of the replies is left "
            "to learn.",
            also_kinds=("never_stops",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
    },
)
