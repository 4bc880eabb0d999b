"""Brevity is paid more than the right sum costs."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="brevity_beats_truth",
    level=1,
    template="grpo_sums",
    ticket="The frontend people asked for snappier answers, and they got them. The "
    "total is at its best ever. Only in the split view does one of the two parts "
    "go down, and in the demo the assistant mostly smiles at you and keeps "
    "silent.",
    faults=(
        Fault(
            like="short_beats_right",
            plant=(
                Edit(
                    "rewards.py",
                    '    return [float(bool(re.fullmatch(r"\\d{1,3}", text_of(c)))) for c in '
                    "completions]",
                    "    return [1.0 - len(text_of(c)) / 2 for c in completions]",
                ),
                Edit("config.yaml", "reward_format: 0.2", "reward_format: 1.0"),
            ),
            enough=(1, 2),  # what remains pays the right sum best
            fix="Pay for the format, or for brevity among right replies only.",
            also_kinds=("length_bias",),
            also_places=("config.yaml reward_format",),
        ),
    ),
    non_fixes={
        "a KL term": (Edit("config.yaml", "beta: 0.0 ", "beta: 0.04 "),),
        "hotter": (Edit("config.yaml", "temperature: 1.0", "temperature: 1.2"),),
    },
)
