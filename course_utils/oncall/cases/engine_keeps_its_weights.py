"""The new weights are put into a dict, but never into the sampler."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="engine_keeps_its_weights",
    level=2,
    template="rl_loop",
    ticket="The score wobbles around where it started while the trainer reports more "
    "and more clipping. It smells like a bad choice of clip range to me. What we "
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
                    "        own.update({name: w for name, w in model.state_dict().items() if"
                    " name in own})",
                ),
                Edit("train.py", "    return model, log\n", "    return sampler.model, log\n"),
            ),
            cause="update() changes the dict and not the model, so the sampler, whose weights "
            "are exported, keeps the base's weights to the end.",
            fix="Load the dict into the model.",
            also_kinds=("logp_mismatch",),
        ),
    ),
    non_fixes={
        "wider clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.40 "),),
        "no KL": (Edit("config.yaml", "kl_coef: 0.001", "kl_coef: 0.0"),),
    },
)
