"""The job's tokenizer has lost the end of a turn, and writes it letter by letter."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault

END = "<|im_end|>"


def lost(tokenizer):
    """As a tokenizer is saved that keeps its vocabulary, and not what was added to it."""
    added = tokenizer["added_tokens"]
    added[:] = [token for token in added if token["content"] != END]


CASE = Case(
    id="end_no_longer_special",
    level=1,
    template="tokenised_rows",
    ticket="Each answer is followed by a small drawing out of brackets and bars, and the till "
    "prints it on the receipt. Without that the prices are mostly usable. The rows became "
    "longer last week, by half, which I took for a better format.",
    faults=(
        Fault(
            title="end of a turn not a token any more",
            kind="never_stops",
            plant=(EditJson("tokenizer/tokenizer.json", lost),),
            cause="<|im_end|> is missing from the added tokens of the job's tokenizer.json, so it "
            "is read as letters, and the token at which the server stops is never learned.",
            fix="Put the token back among the added ones, with its id, 319, or use base/'s file.",
            threads=("tokenizers#472", "tokenizers#275"),
            also_kinds=("retokenised", "template", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
