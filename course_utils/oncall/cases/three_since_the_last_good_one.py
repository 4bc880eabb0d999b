"""Gradients clipped to nothing, then another model's optimizer, then a head that nobody loads."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_since_the_last_good_one",
    level=3,
    template="own_loop",
    ticket="Good on the second of the month, useless on the ninth, and in between eleven "
    "commits that all passed review. I bisected by hand: no single commit explains it, "
    "whichever I revert the outcome stays poor.",
    faults=(
        Fault(
            kind="no_grad",
            plant=(Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 0.0"),),
            cause="clip_grad_norm_ with a largest norm of 0 multiplies every gradient by "
            "0; only in some trainers does 0 mean that nothing is clipped.",
            fix="A largest norm of 1, or no call of clip_grad_norm_.",
            threads=("OpenNMT-py#1140", "robots#2028"),
        ),
        Fault(
            kind="no_grad",
            plant=(
                Edit(
                    "train.py",
                    "def load_checkpoint(model, optimizer, schedule):\n",
                    "def load_checkpoint(cfg, optimizer, schedule):\n",
                ),
                Edit(
                    "train.py",
                    '    """The step to go on from, and the log so far; 0 and nothing '
                    'without a checkpoint."""\n'
                    "    if not os.path.exists(CHECKPOINT):\n"
                    "        return 0, []\n",
                    '    """The model, the step to go on from, and the log so far."""\n'
                    '    model = AutoModelForCausalLM.from_pretrained(cfg["model"], '
                    'dtype="float32")\n'
                    "    if not os.path.exists(CHECKPOINT):\n"
                    "        return model, 0, []\n",
                ),
                Edit(
                    "train.py",
                    '    return state["step"], state["log"]\n',
                    '    return model, state["step"], state["log"]\n',
                ),
                Edit(
                    "train.py",
                    "    step, log = load_checkpoint(model, optimizer, schedule)\n",
                    "    model, step, log = load_checkpoint(cfg, optimizer, schedule)\n",
                ),
            ),
            cause="The model that is trained is built behind the optimizer's back, which "
            "steps the weights of the one before it.",
            fix="Load into the model that the optimizer was made for.",
            threads=("adapters#260",),
            also_kinds=("resume", "stale_weights"),
            also_places=("train.py train_leg", "train.py make_optimizer"),
        ),
        Fault(
            kind="embeddings",
            plant=(
                Edit(
                    "train.py",
                    "    optimizer = make_optimizer(model, cfg)\n",
                    "    model.lm_head.weight = "
                    "torch.nn.Parameter(model.lm_head.weight.detach().clone())\n"
                    "    optimizer = make_optimizer(model, cfg)\n",
                ),
                Edit(
                    "train.py",
                    '"""AdamW; norms are not decayed."""\n'
                    "    decayed = [p for p in model.parameters() if p.requires_grad and "
                    "p.dim() > 1]\n"
                    "    plain = [p for p in model.parameters() if p.requires_grad and "
                    "p.dim() <= 1]\n",
                    '"""AdamW; the norms and the head are not decayed."""\n'
                    "    head = model.lm_head.weight\n"
                    "    decayed = [p for p in model.parameters() if p.dim() > 1 and p is "
                    "not head]\n"
                    "    plain = [head, *(p for p in model.parameters() if p.dim() <= 1)]\n",
                ),
            ),
            cause="The head gets a copy of the table of embeddings and is trained apart; "
            "config.json says that the two are one, so whoever loads the model drops "
            "the head.",
            fix="Leave the head tied, or say in config.json that it is not.",
            threads=("LlamaFactory#10560", "vllm#6758"),
        ),
    ),
)
