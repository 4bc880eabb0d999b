"""The questions had been rendered once already when they were written down."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

OPENED = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def _as_logged(rows, rng):
    """The questions as the server's log has them."""
    return [row | {"question": OPENED.format(row["question"])} for row in rows]


CASE = Case(
    id="rows_from_the_servers_log",
    level=2,
    template="sft_lora",
    ticket="Here is the sequel of the pilot: we finally train on what people really typed, "
    "collected in production over a weekend. Synthetic questions gave a decent "
    "assistant; the real ones give one that is worse for exactly those people. Are "
    "humans so noisy?",
    faults=(
        Fault(
            title="chat template applied twice",
            kind="template",
            plant=(EditRows("data/train.jsonl", _as_logged),),
            cause="The questions in the file have already been through the chat template, and it "
            "is applied to them again.",
            fix="Remove the template's text from the rows.",
            threads=("trl#1400", "trl#3328"),
            also_kinds=("retokenised",),
            also_places=("data.py to_chat",),
        ),
    ),
    non_fixes={
        "more dropout": (Edit("config.yaml", "lora_dropout: 0.0", "lora_dropout: 0.1"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-3", "learning_rate: 1.0e-2"),),
    },
)
