"""The classes are read at the first token, as in an encoder."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="read_as_in_an_encoder",
    level=1,
    template="sum_checker",
    ticket="It has one opinion about everything. Whatever I show it, the two scores are the same "
    "to the last digit, and the curve has lain at a coin's toss since the first line. The head "
    "came over from the spam filter in one piece and has served there for three years, so it "
    "can hardly be that.",
    faults=(
        Fault(
            title="classes read at the first token",
            kind="pooling",
            plant=(
                Edit(
                    "train.py",
                    "        outputs = model(**inputs)\n"
                    "        loss = F.cross_entropy(outputs.logits, labels, weight=self.weights)\n",
                    "        hidden = model.model(**inputs).last_hidden_state\n"
                    '        outputs = {"logits": model.score(hidden[:, 0])}\n'
                    '        loss = F.cross_entropy(outputs["logits"], labels, '
                    "weight=self.weights)\n",
                ),
            ),
            cause="The loss reads the classes at the first token, which sees nothing of the reply "
            "in a model that looks only back.",
            fix="Read them at the last token that is no padding, as the model's own forward does.",
            threads=("progen#8", "allennlp#3780"),
            also_kinds=("no_signal",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 5.0e-4", "learning_rate: 2.0e-3"),),
        "no balance": (Edit("config.yaml", "balance: true ", "balance: false "),),
    },
)
