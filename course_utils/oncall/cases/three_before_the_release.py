"""A token outside the table, then a warm-up without end, then an adapter saved too early."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_before_the_release",
    level=3,
    template="sft_lora",
    ticket="Three of us have touched this job in the last ten days, each for a good reason and "
    "none with a test. At present it does not even get going. The release is on Friday; "
    "when it gets going I expect the usual quality, please do not stop at the first sign "
    "of life.",
    faults=(
        Fault(
            kind="embeddings",
            plant=(
                Edit(
                    "train.py",
                    '    tokenizer.padding_side = "right"  # for training; generation pads '
                    "on the other side\n",
                    '    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})\n'
                    '    tokenizer.padding_side = "right"  # for training; generation pads '
                    "on the other side\n",
                ),
            ),
            cause="A padding token is added to the tokenizer; its id lies behind the last "
            "row of the model's table.",
            fix="Pad with the token that the checkpoint has for it.",
            threads=("transformers#12763", "transformers#15867"),
        ),
        Fault(
            kind="schedule",
            plant=(Edit("config.yaml", "warmup_steps: 4", "warmup_steps: 2000"),),
            cause="The warm-up is forty times as long as the run, so the rate never comes "
            "near what was asked for.",
            fix="A warm-up of a few steps.",
            threads=("GPT2-Chinese#60",),
        ),
        Fault(
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
            cause="The adapter that is merged was saved before training, when it was still "
            "nothing.",
            fix="Save it after trainer.train(), or merge the one in memory.",
            threads=("ms-swift#9855", "peft#2321"),
            also_kinds=("stale_weights",),
            also_places=("train.py export",),
        ),
    ),
)
