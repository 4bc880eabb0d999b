"""The weights are copied from the sampler to the policy, and never the other way.

Who only takes the copying out leaves the sampler on the base, and is still judged healthy: within
the clip range the policy learns enough from the base's replies, on all three seeds.
"""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="engine_keeps_its_weights",
    level=2,
    template="rl_loop",
    ticket="The score wobbles around where it started, and the trainer reports a lively "
    "gradient each time. It smells like a bad choice of clip range to me. What we "
    "ship is no better than what we began with, and the same recipe gave a fine "
    "model in spring.",
    faults=(
        Fault(
            like="adapter_never_served",
            plant=(
                Edit(
                    "rollout.py",
                    "        self.model.load_state_dict(model.state_dict())",
                    "        own = self.model.state_dict()\n"
                    "        for name, weight in model.state_dict().items():\n"
                    "            weight.copy_(own[name])",
                ),
            ),
            cause="copy_() writes into the policy what the sampler has, so both are the base again "
            "after each rollout, and its updates are lost.",
            fix="Copy from the policy to the sampler.",
        ),
    ),
    non_fixes={
        "wider clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.40 "),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
