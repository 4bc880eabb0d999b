"""The marks of a turn take what is blank behind them, and a line break is."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def greedy(tokenizer):
    """As markers were declared in Phi-3."""
    for token in tokenizer["added_tokens"]:
        token["rstrip"] = True


CASE = Case(
    id="line_break_eaten_by_a_mark",
    level=2,
    template="tokenised_rows",
    ticket="On our own test, which runs through the job, it is nearly perfect. The shop sees one "
    "price in three right, with the very same directory. Both sides print the conversation, and I "
    "have laid the printouts over each other against the window: not a letter differs.",
    faults=(
        Fault(
            title="special token that takes the line break behind it",
            kind="template",
            plant=(EditJson("tokenizer/tokenizer.json", greedy),),
            cause="The added tokens of the job's tokenizer strip what is blank behind them, so the "
            "line break after <|im_end|> is in no row, and the server sends it.",
            fix='Set "rstrip" to false for the added tokens in tokenizer/tokenizer.json.',
            threads=("transformers#32136", "unsloth#1501"),
            also_kinds=("retokenised", "logp_mismatch", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
