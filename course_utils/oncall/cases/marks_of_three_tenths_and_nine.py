"""Eight equal marks have a mean that is not the mark, and the rest is divided by next to nothing.

In float32 the mean of eight times 0.9 is 6e-8 too high, that of eight times 0.3 is 3e-8 too low.
"""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="marks_of_three_tenths_and_nine",
    level=2,
    template="rl_loop",
    ticket="It begins well, and then it unlearns just the sums that it was sure of, and clings to "
    "the mistakes that it always made. Success seems to spoil it. The marks run from three tenths "
    "to nine, as in all our projects, and I looked: the right answer has the better one each time.",
    faults=(
        Fault(
            title="rounding error divided by a std of 0",
            kind="tiny_std",
            plant=(
                Edit(
                    "losses.py",
                    "def group_advantages(rewards, size, eps=1e-4):",
                    "def group_advantages(rewards, size, eps=1e-12):",
                ),
                Edit(
                    "rollout.py",
                    '        rewards = [reward(text, row["answer"]) for text, row in '
                    "zip(said, repeated)]\n",
                    '        rights = [reward(text, row["answer"]) for text, row in '
                    "zip(said, repeated)]\n"
                    '        wrong, right = cfg["marks"]\n'
                    "        rewards = [right if is_right else wrong for is_right in rights]\n",
                ),
                Edit(
                    "config.yaml",
                    "top_p: 1.0\n",
                    "top_p: 1.0\nmarks: [0.3, 0.9]       # of a wrong sum, and of a right one\n",
                ),
            ),
            enough=(1, 2),  # the rest of equal rewards is 0, or is divided by more
            cause="In float32 the mean of eight times 0.9 is 6e-8 above 0.9, and that of eight "
            "times 0.3 is 3e-8 below 0.3. Where all replies of a group earn the same, this is "
            "divided by a std of 0 plus 1e-12: right replies get an advantage of -60,000, wrong "
            "ones of +30,000, and such groups outweigh all others.",
            fix="Put eps=1e-4 beside the std, leave such groups out, or use marks whose sum is "
            "exact, such as 0 and 1.",
            threads=("verl#4597", "verl#4598", "NeMo-RL#4161"),
            also_kinds=("no_signal", "bad_numbers", "rounding"),
        ),
    ),
    non_fixes={
        "tighter clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.10 "),),
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.02"),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
    },
)
