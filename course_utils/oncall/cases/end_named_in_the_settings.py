"""The trainer's settings name another end token than the template writes."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="end_named_in_the_settings",
    level=2,
    template="sft_lora",
    ticket="Latency has tripled since the last deployment and the invoices with it. Strangely "
    "the evaluation on the loss says that this is our strongest candidate so far. SRE "
    "wants to put it on faster cards. Please check first whether something in the "
    "deployment itself is off.",
    faults=(
        Fault(
            like="stops_at_another_id",
            plant=(
                Edit(
                    "train.py",
                    "        completion_only_loss=True,\n",
                    '        completion_only_loss=True,\n        eos_token="<|endoftext|>",\n',
                ),
            ),
            cause="eos_token in the trainer's settings is not the token that ends a turn; the "
            "trainer sets it on the tokenizer, from which the export takes the id at which "
            "generation stops.",
            fix="Leave eos_token out of the trainer's settings, or set the one that the chat "
            "template writes.",
            also_kinds=("template",),
            also_places=("train.py export",),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 6"),),
        "more dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
