"""After a resume the optimizer steps another model's weights."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="optimizer_of_the_model_before",
    level=2,
    template="own_loop",
    ticket="Look at the norms in the log: they climb and climb after the first dozen lines, "
    "although nothing else moves. I tightened the threshold twice. A reviewer says our "
    "learning rate is on the wild side; it has been that for a year.",
    faults=(
        Fault(
            kind="resume",
            plant=(
                Edit(
                    "train.py",
                    '    """The step to go on from, and the log so far; 0 and nothing '
                    'without a checkpoint."""\n'
                    "    if not os.path.exists(CHECKPOINT):\n"
                    "        return 0, []\n",
                    '    """The model, the step to go on from, and the log so far."""\n'
                    "    if not os.path.exists(CHECKPOINT):\n"
                    "        return model, 0, []\n",
                ),
                Edit(
                    "train.py",
                    '    model.load_state_dict(state["model"])\n',
                    "    model = AutoModelForCausalLM.from_config(model.config)\n"
                    '    model.load_state_dict(state["model"])\n',
                ),
                Edit(
                    "train.py",
                    '    return state["step"], state["log"]\n',
                    '    return model, state["step"], state["log"]\n',
                ),
                Edit(
                    "train.py",
                    "    step, log = load_checkpoint(model, optimizer, schedule)\n",
                    "    model, step, log = load_checkpoint(model, optimizer, schedule)\n",
                ),
            ),
            cause="A resumed leg builds its model anew behind the optimizer's back, which "
            "goes on stepping the weights of the old one.",
            fix="Load the checkpoint into the model that the optimizer was made for.",
            threads=("adapters#260", "transformers#33336"),
            also_kinds=("no_grad", "stale_weights"),
            also_places=("train.py train_leg", "train.py make_optimizer"),
        ),
    ),
    non_fixes={
        "longer memory": (Edit("config.yaml", "beta2: 0.98 ", "beta2: 0.999 "),),
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
    },
)
