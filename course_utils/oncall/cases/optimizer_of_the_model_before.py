"""The optimizer steps the weights of a model that is not trained."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="optimizer_of_the_model_before",
    level=2,
    template="own_loop",
    ticket="The queue gives us four short slots a night, and for a year that was enough. Now "
    "what comes back in the morning cannot add any better than what we sent in the evening. "
    "A reviewer says our updates are on the wild side; they have been that for a year, too.",
    faults=(
        Fault(
            like="optimizer_before_adapter",
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
            cause="The trained model is built after the optimizer, which keeps updating the "
            "weights of the previous one.",
            fix="Load into the model that the optimizer was made for.",
            also_kinds=("resume", "stale_weights"),
            also_places=("train.py train_leg", "train.py make_optimizer"),
        ),
    ),
    non_fixes={
        "longer memory": (Edit("config.yaml", "beta2: 0.98 ", "beta2: 0.999 "),),
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
    },
)
