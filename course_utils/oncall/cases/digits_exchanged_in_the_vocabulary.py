"""The job's tokenizer has the ids of 3 and 8 exchanged."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def exchanged(tokenizer):
    """As a vocabulary is written out by hand after a repair."""
    ids = tokenizer["model"]["vocab"]
    ids["3"], ids["8"] = ids["8"], ids["3"]


CASE = Case(
    id="digits_exchanged_in_the_vocabulary",
    level=1,
    template="tokenised_rows",
    ticket="Two questions in three come back with a wrong price, always by whole tens or by some "
    "units. I read a hundred rows, and there is no mistake in any of them; the base alone adds "
    "better than what I make out of it. More rows of the same kind made it worse.",
    faults=(
        Fault(
            title="ids of two digits exchanged in a tokenizer",
            kind="retokenised",
            plant=(EditJson("tokenizer/tokenizer.json", exchanged),),
            cause="The job's tokenizer.json gives 3 the id of 8, and 8 that of 3, so each row that "
            "has one of them teaches another sum.",
            fix="Exchange the two ids in tokenizer/tokenizer.json, or use the base's tokenizer.",
            threads=("OpenP5#4", "mario-gpt#26"),
            also_kinds=("embeddings", "labels", "checkpoint"),
            also_places=("tokenise.py encode", "tokenise.py load", "config.yaml tokenizer"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 1.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
