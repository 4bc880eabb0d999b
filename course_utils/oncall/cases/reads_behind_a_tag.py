"""The rewards read the text after a tag that this model never writes."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="reads_behind_a_tag",
    level=1,
    template="grpo_sums",
    ticket="We merged the parsing code of the big model's project into ours so that "
    "there is one version of it. Everything runs. But the column with the mean "
    "reward is 0 in every row now, and the samples next to it look like those of "
    "last month.",
    faults=(
        Fault(
            like="verifier_wants_a_tag",
            plant=(
                Edit(
                    "rewards.py",
                    '    return completion[-1]["content"].strip()',
                    '    return completion[-1]["content"].partition("</think>")[2].strip()',
                ),
            ),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 3.0e-4"),),
        "hotter": (Edit("config.yaml", "temperature: 1.0", "temperature: 1.3"),),
    },
)
