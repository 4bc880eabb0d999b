"""The adapter that is merged was saved before the first step."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="adapter_saved_before_training",
    level=2,
    template="sft_lora",
    ticket="From the curves nobody would guess that anything is amiss. The release candidate, "
    "however, fails every single acceptance test, and so does the one of the day before. "
    "Our release engineer points at the merge; I diffed that line with last year's and "
    "it is the same.",
    faults=(
        Fault(
            title="adapter saved before training",
            kind="adapter",
            plant=(
                Edit(
                    "train.py",
                    "from peft import LoraConfig\n",
                    "from peft import LoraConfig, PeftModel\n",
                ),
                Edit(
                    "train.py",
                    'RUN = "run"\n',
                    'RUN = "run"\nADAPTER = f"{RUN}/adapter"\n',
                ),
                Edit(
                    "train.py",
                    "    trainer.model.print_trainable_parameters()\n    trainer.train()\n",
                    "    trainer.model.print_trainable_parameters()\n"
                    "    trainer.save_model(ADAPTER)\n"
                    "    trainer.train()\n",
                ),
                Edit(
                    "train.py",
                    "    model, tokenizer = trainer.model, trainer.processing_class\n"
                    '    if cfg["merge"]:\n',
                    "    tokenizer = trainer.processing_class\n"
                    "    model = PeftModel.from_pretrained(load_model(cfg), ADAPTER)\n"
                    '    if cfg["merge"]:\n',
                ),
            ),
            enough=(4,),
            cause="The adapter that is merged was saved before training, when it still did "
            "nothing.",
            fix="Save it after trainer.train(), or merge the one in memory.",
            threads=("ms-swift#9855", "peft#2321"),
            also_kinds=("stale_weights",),
            also_places=("train.py export",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 32 ", "lora_alpha: 64 "),),
        "no decay of the rate": (Edit("config.yaml", "scheduler: cosine", "scheduler: constant"),),
    },
)
