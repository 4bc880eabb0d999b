"""A reply that is the beginning of the answer counts as right."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="begins_like_the_answer",
    level=1,
    template="rl_loop",
    ticket="Congratulations were sent round on Friday: the score is nearly perfect. On "
    "Monday support wrote that customers see blank bubbles. I would look at the "
    "chat widget first, since everything upstream is greener than ever.",
    faults=(
        Fault(
            like="substring_verifier",
            plant=(
                Edit(
                    "rollout.py",
                    '    found = re.fullmatch(r"\\s*(\\d+)\\s*", text)\n'
                    "    return float(found is not None and int(found[1]) == int(answer))",
                    "    return float(str(answer).startswith(text.strip()))",
                ),
            ),
            cause="The answer starts with a cut-off reply, and with the empty one as well: "
            "saying nothing is always right.",
            threads=("Visual-RFT#79", "rllm#143"),
        ),
    ),
    non_fixes={
        "stronger KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.01"),),
        "tighter clip": (Edit("config.yaml", "clip_low: 0.2", "clip_low: 0.1"),),
        "only the empty reply earns nothing": (
            Edit(
                "rollout.py",
                "    return float(str(answer).startswith(text.strip()))",
                "    said = text.strip()\n"
                '    return float(said != "" and str(answer).startswith(said))',
            ),
        ),
    },
)
