"""The job's tokenizer settings name the base's end of a text as the end of a turn."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def of_the_base(settings):
    """As a template is added to a base model's tokenizer."""
    settings["eos_token"] = "<|endoftext|>"


CASE = Case(
    id="end_of_the_base_in_its_settings",
    level=1,
    template="tokenised_rows",
    ticket="The prices are right, and they do not stay alone: it goes on to ask itself the next "
    "one, and answers that as well. Loss and norm are textbook. Another group fine-tunes the same "
    "weights with the same rows on a ready-made trainer, where it keeps quiet.",
    faults=(
        Fault(
            title="another end token in a tokenizer's settings",
            kind="never_stops",
            plant=(EditJson("tokenizer/tokenizer_config.json", of_the_base),),
            cause="The job's tokenizer_config.json names <|endoftext|> as its eos token, so "
            "replies learn to end with that one; the server stops at <|im_end|>.",
            fix='Set "eos_token" to "<|im_end|>" in tokenizer/tokenizer_config.json.',
            threads=("ms-swift#3113", "InternLM#715"),
            also_kinds=("template", "labels", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
