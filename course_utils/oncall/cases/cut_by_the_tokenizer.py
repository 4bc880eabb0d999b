"""A limit of sixteen tokens was saved with the job's tokenizer."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def limited(tokenizer):
    """As a call with truncation=True leaves its limit in the file that is saved after it."""
    tokenizer["truncation"] = {
        "direction": "Right",
        "max_length": 16,
        "strategy": "LongestFirst",
        "stride": 0,
    }


CASE = Case(
    id="cut_by_the_tokenizer",
    level=1,
    template="tokenised_rows",
    ticket="It does not know where to leave off, and the noughts are missing or there are too "
    "many of them. The set is the one of last month, from when it did; since then nothing was "
    "changed but a short trial of something else by a trainee, who has put everything back.",
    faults=(
        Fault(
            title="truncation saved with a tokenizer",
            kind="labels",
            plant=(EditJson("tokenizer/tokenizer.json", limited),),
            cause="tokenizer.json was saved with a truncation to 16 tokens, so the job cuts most "
            "replies off, and their ends.",
            fix='Set "truncation" to null in tokenizer/tokenizer.json.',
            threads=("llm-compressor#2917", "transformers#24179"),
            also_kinds=("never_stops", "retokenised", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "longer replies": (Edit("config.yaml", "max_new_tokens: 12", "max_new_tokens: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
    },
)
