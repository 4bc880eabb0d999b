"""A padding token is added, and the table of embeddings has no row for it."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="pad_outside_the_table",
    level=1,
    template="rl_loop",
    ticket="It does not get as far as the first line of output. The same folder ran "
    "last week on the same box. What changed is small and in the part that "
    "nobody looks at; the serving side insists that tensors keep the shapes they "
    "have today.",
    faults=(
        Fault(
            like="token_outside_the_table",
            plant=(
                Edit(
                    "train.py",
                    '    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])\n    model, log',
                    '    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])\n'
                    '    tokenizer.add_special_tokens({"pad_token": "[PAD]"})\n'
                    "    model, log",
                ),
            ),
            fix="Pad with a token that the tokenizer already has.",
            also_places=("train.py load_model",),
        ),
    ),
    non_fixes={
        "a larger table": (
            Edit(
                "train.py",
                '    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")',
                '    model = AutoModelForCausalLM.from_pretrained(cfg["model"],'
                ' dtype="float32")\n'
                "    model.resize_token_embeddings(321)\n"
                "    return model",
            ),
        ),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
