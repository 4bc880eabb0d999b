"""The evaluation's limit on length counts the prompt, and leaves no room for a sum."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="length_counts_the_prompt",
    level=2,
    template="choose_checkpoint",
    ticket="It says its dash to every hello and adds like in January. The curve comes down until "
    "October, so we did not stop too soon, and the weights of that time are on the disk. "
    "Somehow the machine never wants them: it gives everything from the twentieth step on "
    "the same bad mark.",
    faults=(
        Fault(
            title="evaluated replies cut after three tokens",
            kind="metric",
            plant=(Edit("task.yaml", "max_length: 48", "max_length: 20"),),
            cause="max_length counts the question as well, so replies are cut after three "
            "tokens, no sum can be right, small talk alone decides, and the first of "
            "equals is exported.",
            fix="Leave room for the reply: a larger max_length, or max_new_tokens.",
            threads=("transformers#13983", "gpt-neo#268"),
            also_kinds=("labels", "stale_weights"),
            also_places=("evaluate.py replies",),
        ),
    ),
    non_fixes={
        "longer replies of the server": (
            Edit("config.yaml", "max_new_tokens: 24", "max_new_tokens: 48"),
        ),
        "fewer rows": (Edit("task.yaml", "limit: 96 ", "limit: 48 "),),
    },
)
