"""A token was added before the end of a turn, whose id is behind the table since then."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault

BEHIND = 320  # the table has rows 0 to 319


def added(tokenizer):
    """As somebody adds a separator: the library numbers added tokens as they come."""
    tokens = tokenizer["added_tokens"]
    tokens.insert(-1, tokens[-1] | {"content": "<|sep|>"})
    tokens[-1]["id"] = BEHIND


CASE = Case(
    id="separator_before_the_end",
    level=1,
    template="tokenised_rows",
    ticket="It falls over before the first line of the log. The data are unchanged, the weights "
    "are unchanged, the code is unchanged, and the message speaks of a range, without saying "
    "whose. With last week's copy of the job it went through.",
    faults=(
        Fault(
            title="added token moves another behind the table",
            kind="embeddings",
            plant=(EditJson("tokenizer/tokenizer.json", added),),
            cause="A separator that nobody uses was added before <|im_end|>, which has the id 320 "
            "since then, the first for which the embedding table has no row.",
            fix="Take <|sep|> out of the added tokens, so that <|im_end|> has the id 319 again.",
            threads=("InternLM#715", "transformers#9246"),
            also_kinds=("retokenised", "bad_numbers", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
