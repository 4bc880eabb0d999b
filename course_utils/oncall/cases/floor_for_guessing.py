"""The entropy is held above a floor that is given as a share of the vocabulary's largest."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="floor_for_guessing",
    level=2,
    template="rl_loop",
    ticket="We wanted it to stay curious, and it does: at the end hardly two of the eight "
    "replies to a question agree, and hardly one of them is the sum. The paper that this "
    "is from has a number that is larger still, and stands at the top of every table. Are "
    "sums perhaps no subject for it?",
    faults=(
        Fault(
            title="entropy floor as a share of the vocabulary's maximum",
            kind="collapse",
            plant=(
                Edit(
                    "losses.py",
                    '"""Advantages, the clipped loss, the KL term. B rows, T reply tokens."""\n'
                    "\n"
                    "import torch\n",
                    '"""Advantages, the clipped loss, the KL term. B rows, T reply tokens."""\n'
                    "\n"
                    "import math\n"
                    "\n"
                    "import torch\n",
                ),
                Edit(
                    "losses.py",
                    "def kl_to_reference(",
                    "def too_certain(entropy, share, vocab_size):\n"
                    '    """How far the entropy is below a share of the largest possible one."""\n'
                    "    return (share * math.log(vocab_size) - entropy).clamp(min=0)\n"
                    "\n"
                    "\n"
                    "def kl_to_reference(",
                ),
                Edit(
                    "train.py",
                    "from losses import group_advantages, kl_to_reference, policy_loss, "
                    "token_mean\n",
                    "from losses import (\n"
                    "    group_advantages,\n"
                    "    kl_to_reference,\n"
                    "    policy_loss,\n"
                    "    token_mean,\n"
                    "    too_certain,\n"
                    ")\n",
                ),
                Edit(
                    "train.py",
                    '    loss = pg_loss + cfg["kl_coef"] * kl - cfg["entropy_coef"] * '
                    "mean_entropy\n",
                    '    lacking = too_certain(mean_entropy, cfg["entropy_floor"], '
                    "model.config.vocab_size)\n"
                    '    loss = pg_loss + cfg["kl_coef"] * kl + cfg["entropy_coef"] * lacking\n',
                ),
                Edit(
                    "config.yaml",
                    "entropy_coef: 0.0\n",
                    "entropy_coef: 3.0\n"
                    "entropy_floor: 0.7      # of the largest that there can be\n",
                ),
            ),
            cause="The floor is 0.7 of the logarithm of the vocabulary, about 4 nats a token, and "
            "a policy that answers has a quarter of a nat: being random pays until it is.",
            fix="Take a floor below the entropy of a policy that answers, such as 0.02 of the "
            "largest, or no entropy term.",
            threads=("sac-discrete.pytorch#15", "verl#781"),
            also_places=("config.yaml entropy_coef", "losses.py too_certain"),
        ),
    ),
    non_fixes={
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.02"),),
        "tighter clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.20 "),),
    },
)
