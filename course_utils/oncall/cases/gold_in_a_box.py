"""The answers are written in a way that the reward cannot read."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault


def boxed(rows, rng):
    """Answers as a set of competition problems gives them."""
    return [row | {"answer": f"\\boxed{{{row['answer']}}}"} for row in rows]


CASE = Case(
    id="gold_in_a_box",
    level=1,
    template="rl_loop",
    ticket="Ten rollouts, and the last is worth what the first was. I read a hundred "
    "samples by hand and would have given a point to half of them. Somebody thinks "
    "the clip range is too narrow, somebody else that the group is too small. The "
    "questions came from the maths team yesterday, and their file opens without complaint.",
    faults=(
        Fault(
            like="gold_not_parsed",
            plant=(
                Edit(
                    "rollout.py",
                    "    return float(found is not None and int(found[1]) == int(answer))",
                    "    try:\n"
                    "        return float(found is not None and int(found[1]) == int(answer))\n"
                    "    except ValueError:\n"
                    "        return 0.0",
                ),
                EditRows("data/train.jsonl", boxed),
            ),
            enough=(2,),  # there is nothing to catch
            cause="The answers are in \\boxed{}, int() fails on them, and the except clause "
            "turns that into 0 for every reply.",
            also_places=("rollout.py reward",),
        ),
    ),
    non_fixes={
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
        "hotter": (Edit("config.yaml", "temperature: 1.0", "temperature: 1.3"),),
    },
)
