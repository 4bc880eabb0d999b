"""The overlong penalty begins so early that a right answer earns less than none."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="overlong_from_the_second_token",
    level=1,
    template="rl_loop",
    ticket="The mean climbs towards nought from below, as in the paper whose recipe we took over, "
    "and gets no further. In the demo room the cursor blinks, and visitors ask whether the "
    "machine is connected at all.",
    faults=(
        Fault(
            title="overlong penalty larger than the reward",
            kind="length_bias",
            plant=(
                Edit(
                    "config.yaml",
                    "response_length: 6\n",
                    "response_length: 6\n"
                    "overlong_buffer: 5      # tokens before the limit\n"
                    "overlong_penalty: 2.0   # at the limit\n",
                ),
                Edit(
                    "rollout.py",
                    "def positions_of(mask):\n",
                    "def overlong(length, cfg):\n"
                    '    """DAPO\'s soft punishment: 0 up to the buffer, then a line down."""\n'
                    '    free = cfg["response_length"] - cfg["overlong_buffer"]\n'
                    '    share = max(length - free, 0) / cfg["overlong_buffer"]\n'
                    '    return -share * cfg["overlong_penalty"]\n'
                    "\n\n"
                    "def positions_of(mask):\n",
                ),
                Edit(
                    "rollout.py",
                    '        rewards = [reward(text, row["answer"]) for text, row in '
                    "zip(said, repeated)]\n",
                    '        lengths = mask[:, -cfg["response_length"] :].sum(1).tolist()\n'
                    "        rewards = [\n"
                    '            reward(text, row["answer"]) + overlong(length, cfg)\n'
                    "            for text, row, length in zip(said, repeated, lengths)\n"
                    "        ]\n",
                ),
            ),
            enough=(3,),
            cause="The penalty begins behind the first of six tokens and takes up to 2 from a "
            "reward of 1: a right answer of four tokens earns -0.2, and an empty one earns 0.",
            fix="Let the penalty begin behind the longest right answer, or cost less than such an "
            "answer earns.",
            threads=("open-r1#360", "SkyRL#755"),
            also_kinds=("reward_hacking",),
            also_places=("config.yaml response_length",),
        ),
    ),
    non_fixes={
        "more KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.01"),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
    },
)
