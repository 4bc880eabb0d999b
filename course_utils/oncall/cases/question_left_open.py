"""The evaluation's questions end before the assistant's turn."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="question_left_open",
    level=2,
    template="choose_checkpoint",
    ticket="We serve a toddler: of a hundred and twenty steps it has taken ten. According to our "
    "exam none of them knows anything, from the first to the last, while in my notebook those "
    "of September answer like grown-ups.",
    faults=(
        Fault(
            like="served_by_hand",
            title="evaluation asks without the assistant's turn",
            kind="template",
            plant=(
                Edit("task.yaml", "add_generation_prompt: true", "add_generation_prompt: false"),
            ),
            cause="The evaluation's prompts end before the assistant's turn, so each reply "
            "begins with something else, all score 0, and the first of equals is "
            "exported.",
            fix="Evaluate with the generation prompt, as the server asks.",
            also_kinds=("metric", "stale_weights"),
            also_places=("evaluate.py prompt_of",),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("task.yaml", "max_length: 48", "max_length: 96"),),
        "saved more often": (Edit("config.yaml", "save_every: 10", "save_every: 5"),),
    },
)
