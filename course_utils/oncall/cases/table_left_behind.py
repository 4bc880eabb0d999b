"""The embedding is trained beside the adapter, and is not in its file."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="table_left_behind",
    level=2,
    template="export_serve",
    ticket="The digits mean something else in our code, so we let their vectors move as well, and "
    "the loss has never been so low. What comes out at the other end is gibberish. With the "
    "process still open I can ask the same questions and get perfect replies.",
    faults=(
        Fault(
            title="trained embedding left out of the adapter's file",
            kind="adapter",
            plant=(
                Edit(
                    "train.py",
                    "    return get_peft_model(load_base(cfg), config)\n",
                    "    model = get_peft_model(load_base(cfg), config)\n"
                    "    model.get_input_embeddings().weight.requires_grad_(True)\n"
                    "    return model\n",
                ),
            ),
            cause="The embedding is trained by hand, but save_pretrained writes only what the "
            "adapter's configuration names, so the export has the base's embedding.",
            fix="Leave the embedding frozen, or name it in trainable_token_indices or "
            "modules_to_save.",
            threads=("trl#1379", "peft#577"),
            also_kinds=("embeddings",),
        ),
    ),
    non_fixes={
        "longer warm-up": (Edit("config.yaml", "warmup_steps: 10", "warmup_steps: 20"),),
        "dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
