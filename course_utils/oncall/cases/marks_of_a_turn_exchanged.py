"""The job's tokenizer gives the mark that opens a turn the id of the one that ends it."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def exchanged(tokenizer):
    """As tokens are added in the order of a set: the library numbers them as they come."""
    added = tokenizer["added_tokens"]
    added[1]["content"], added[2]["content"] = added[2]["content"], added[1]["content"]


CASE = Case(
    id="marks_of_a_turn_exchanged",
    level=1,
    template="tokenised_rows",
    ticket="It gives the price, and then the price again, and then something with plus signs, "
    "until the counter cuts it off. In training it looks perfect, and so does every row when I "
    "print it back with what made it.",
    faults=(
        Fault(
            title="ids of two special tokens exchanged",
            kind="never_stops",
            plant=(EditJson("tokenizer/tokenizer.json", exchanged),),
            cause="The job's tokenizer gives <|im_end|> the id of <|im_start|> and the other way "
            "round, so replies learn to end with a token at which the server does not stop.",
            fix="Give the two tokens the ids that they have in base/tokenizer.json.",
            threads=("transformers#3366", "OpenP5#4"),
            also_kinds=("retokenised", "template", "embeddings", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
