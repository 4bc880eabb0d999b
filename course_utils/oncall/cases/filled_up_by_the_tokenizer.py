"""A padding to a fixed length was saved with the job's tokenizer."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def filled(tokenizer):
    """As a batch for an engine with fixed shapes leaves it."""
    tokenizer["padding"] = {
        "strategy": {"Fixed": 24},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 317,
        "pad_type_id": 0,
        "pad_token": "<|endoftext|>",
    }


CASE = Case(
    id="filled_up_by_the_tokenizer",
    level=1,
    template="tokenised_rows",
    ticket="Three letters instead of a number, from the first line on. Rate, seed and rows are "
    "as they were in the run above it in the list, which is fine, and the only thing that I "
    "notice is that all examples have come to be of one size.",
    faults=(
        Fault(
            title="padding saved with a tokenizer",
            kind="labels",
            plant=(EditJson("tokenizer/tokenizer.json", filled),),
            cause="tokenizer.json was saved with a padding to 24 tokens, so the prompt alone is as "
            "long as the row, and no token of a reply has a label.",
            fix='Set "padding" to null in tokenizer/tokenizer.json.',
            threads=("djl#2669", "transformers#24179"),
            also_kinds=("padding_side", "bad_numbers", "retokenised", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
