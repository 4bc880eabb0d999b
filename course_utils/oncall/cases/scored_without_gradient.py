"""The trainer's scores are computed in inference mode."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="scored_without_gradient",
    level=1,
    template="rl_loop",
    ticket="My speed-up of the scoring pass was approved without a word, and main is "
    "red since. The message on the screen speaks of an element nought of "
    "something, which I take for an empty prompt in the file.",
    faults=(
        Fault(
            title="log-probs computed without gradient",
            kind="no_grad",
            plant=(
                Edit(
                    "train.py",
                    "def score(model, batch, cfg):",
                    "@torch.no_grad()\ndef score(model, batch, cfg):",
                ),
            ),
            cause="The policy's log-probs are computed without a graph, so the loss cannot be "
            "differentiated.",
            fix="Compute the policy's log-probs with gradients.",
            threads=("trl#3089", "open-unlearning#178"),
        ),
    ),
    non_fixes={
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
        "it asks for one": (
            Edit("train.py", "    loss.backward()\n", "    loss.requires_grad_(True).backward()\n"),
        ),
    },
)
