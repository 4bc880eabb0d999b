"""A new padding token has no row in the table of embeddings."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="padding_beyond_the_table",
    level=1,
    template="sft_lora",
    ticket="Fails on the first forward pass here, and on the big machine with an assertion that "
    "names no line. The rows are clean, I looked at all eight hundred. Whatever you do, "
    "the result must load where the old one did: same shapes.",
    faults=(
        Fault(
            like="token_outside_the_table",
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
            fix="Pad with a token that the tokenizer already has.",
            also_places=("train.py load_model",),
        ),
    ),
    non_fixes={
        "shorter rows": (Edit("config.yaml", "max_length: 64", "max_length: 32"),),
        "a larger table": (
            Edit(
                "train.py",
                "        model=load_model(cfg),\n",
                "        model=resized(load_model(cfg), tokenizer),\n",
            ),
            Edit(
                "train.py",
                "def adapter_config(cfg):",
                "def resized(model, tokenizer):\n"
                "    model.resize_token_embeddings(len(tokenizer))\n"
                "    return model\n"
                "\n"
                "\n"
                "def adapter_config(cfg):",
            ),
        ),
    },
)
