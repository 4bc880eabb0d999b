"""Three faults in a chain: SkillsBench's `debug-trl-grpo`, rebuilt from its description.

skillsbench#775 describes them: replies are empty unless they hold `</think>`, the advantage is
divided by the deviation and 1e4 in place of 1e-4, and log-softmax subtracts the wrong way round.
"""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_after_a_failed_port",
    level=3,
    template="rl_loop",
    ticket="We ported the loop from the library to our own code, line by line, over a long "
    "weekend. The original learnt in minutes. Ours ran through on Monday without an error, and "
    "the numbers on the board are all one and the same number. Bring it back to life, and do "
    "not stop at the first thing that you find.",
    faults=(
        Fault(
            like="verifier_wants_a_tag",
            plant=(
                Edit(
                    "rollout.py",
                    '    found = re.fullmatch(r"\\s*(\\d+)\\s*", text)\n',
                    '    _, _, said = text.partition("</think>")\n'
                    '    found = re.fullmatch(r"\\s*(\\d+)\\s*", said)\n',
                ),
            ),
            cause="The reward reads what stands behind </think>, which this policy never writes, "
            "so every reply is empty and earns 0.",
            fix="Read the whole reply where it holds no </think>.",
        ),
        Fault(
            title="advantages divided by a huge epsilon",
            kind="tiny_std",
            plant=(
                Edit(
                    "losses.py",
                    "def group_advantages(rewards, size, eps=1e-4):",
                    "def group_advantages(rewards, size, eps=1e4):",
                ),
            ),
            cause="The deviation is divided by with 1e4 beside it in place of 1e-4, so the "
            "advantages are next to nothing and the other terms of the loss decide.",
            fix="eps=1e-4",
            threads=("skillsbench#775",),
            also_kinds=("no_signal",),
        ),
        Fault(
            title="log-softmax with the wrong sign",
            kind="logp_mismatch",
            plant=(
                Edit(
                    "train.py",
                    "    logp = logits.log_softmax(-1)\n",
                    "    logp = logits.logsumexp(-1, keepdim=True) - logits\n",
                ),
            ),
            cause="The log-probabilities of the trainer have the wrong sign, so every update "
            "makes good replies less likely.",
            fix="logits - logits.logsumexp(-1, keepdim=True), or log_softmax",
            threads=("skillsbench#775",),
            also_kinds=("bad_numbers",),
        ),
    ),
)
