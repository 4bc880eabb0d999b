"""The exported model stops at the base's end of text, but the template ends a turn otherwise."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="stops_at_another_id",
    level=1,
    template="sft_lora",
    ticket="Loss and token accuracy of this run are the best we have had. Behind the API every "
    "answer runs into max_new_tokens and bills accordingly. When I cut the text by hand after "
    "the number, it is right nearly every time.",
    faults=(
        Fault(
            like="stops_at_another_id",
            plant=(
                Edit(
                    "train.py",
                    "eos_token_id=tokenizer.eos_token_id,",
                    'eos_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"),',
                ),
            ),
            fix="Export the id of the token that ends a turn.",
            also_kinds=("template",),
        ),
    ),
    non_fixes={
        "a lower limit": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 6"),),
        "more dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
    },
)
