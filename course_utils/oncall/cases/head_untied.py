"""The output layer is untied from the embeddings, and the checkpoint has none."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="head_untied",
    level=1,
    template="grpo_sums",
    ticket="From step one it babbles. The very same folder on disk, opened in my "
    "notebook, adds up numbers like a schoolchild. Our people had wanted to tune "
    "the two ends of the network apart from each other, but that experiment was "
    "called off before it began, I was told.",
    faults=(
        Fault(
            title="output head untied and initialised at random",
            kind="embeddings",
            plant=(
                Edit(
                    "train.py",
                    'from_pretrained(cfg["model"], dtype="float32")',
                    "from_pretrained(\n"
                    '        cfg["model"], dtype="float32", tie_word_embeddings=False\n'
                    "    )",
                ),
            ),
            cause="The output layer is untied from the embeddings; the checkpoint does not "
            "contain it, so it is initialised at random.",
            fix="Keep the weights tied.",
            threads=("peft#1750", "LLaMA-Factory#6446"),
            also_kinds=("no_signal",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-4", "learning_rate: 1.0e-3"),),
        "colder": (Edit("config.yaml", "temperature: 1.0", "temperature: 0.7"),),
    },
)
