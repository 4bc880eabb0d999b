"""The k1 estimate of KL(student || teacher), on replies that the student did not sample."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="estimate_on_given_tokens",
    level=2,
    template="distil_loop",
    ticket="The best curve I ever had: down, past zero and on, smooth as a slide. The card is "
    "small, so I rewrote one part in a more economical way, and the book says that both ways come "
    "to the same. Then I ask it for three and four, and it babbles until somebody stops it.",
    faults=(
        Fault(
            title="k1 estimate on tokens of a dataset",
            kind="kl_place",
            plant=(
                Edit(
                    "losses.py",
                    "def divergence(student_logits, teacher_logits, temperature):\n"
                    '    """KL(teacher || student) of each position, both softened, times the '
                    'squared temperature."""\n'
                    "    student = F.log_softmax(student_logits / temperature, dim=-1)\n"
                    "    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)\n"
                    '    each = F.kl_div(student, teacher, log_target=True, reduction="none")'
                    ".sum(-1)\n"
                    "    return each * temperature**2\n",
                    "def log_prob(logits, tokens, temperature):\n"
                    '    """Softened log-prob of one token at each position."""\n'
                    "    logp = F.log_softmax(logits / temperature, dim=-1)\n"
                    "    return logp.gather(-1, tokens[..., None])[..., 0]\n"
                    "\n"
                    "\n"
                    "def divergence(student_logits, teacher_logits, batch, temperature, kind):\n"
                    '    """KL of each position, estimated from its token (k1 or k2)."""\n'
                    '    following = torch.roll(batch["input_ids"], -1, dims=1)\n'
                    "    student = log_prob(student_logits, following, temperature)\n"
                    "    log_ratio = log_prob(teacher_logits, following, temperature) - student\n"
                    '    each = -log_ratio if kind == "k1" else 0.5 * log_ratio.square()\n'
                    "    return each * temperature**2\n",
                ),
                Edit(
                    "train.py",
                    '    apart = divergence(said, wanted, cfg["temperature"])\n',
                    '    apart = divergence(said, wanted, batch, cfg["temperature"], '
                    'cfg["kl_kind"])\n',
                ),
                Edit(
                    "config.yaml",
                    "answer_weight: 0.1 ",
                    "kl_kind: k1             # of one token a position, which saves memory\n"
                    "answer_weight: 0.1 ",
                ),
            ),
            cause="Of k1, only the mean over tokens that the student itself samples is a KL. On "
            "the replies of the file it has no lowest value, and the shortest way down is to give "
            "each right token a probability of 0.",
            fix="kl_kind: k2, or the KL over the whole vocabulary.",
            threads=("open-instruct#534", "trl#4967"),
            also_kinds=("logp_mismatch", "metric"),
        ),
    ),
    non_fixes={
        "hotter": (Edit("config.yaml", "temperature: 1.5 ", "temperature: 2.5 "),),
        "more of the answers": (Edit("config.yaml", "answer_weight: 0.1 ", "answer_weight: 0.3 "),),
    },
)
