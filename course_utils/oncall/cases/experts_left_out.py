"""LoRA has the seven usual names, and no expert of the mixture is reached."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="experts_left_out",
    level=1,
    template="export_serve",
    ticket="Since the new lead tidied up the settings the run still learns, but never well: "
    "the loss goes from six to one and there it sits, while the last good run ended "
    "below 0.1. Hardly any answer on our test sheet is right. She has already doubled "
    "the steps on her own machine, and it sat there as well.",
    faults=(
        Fault(
            like="experts_without_adapter",
            plant=(
                Edit(
                    "config.yaml",
                    "[q_proj, v_proj]\n"
                    "target_parameters: [mlp.experts.gate_up_proj, mlp.experts.down_proj]\n",
                    "[q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]\n"
                    "target_parameters: []\n",
                ),
            ),
        ),
    ),
    non_fixes={
        "every linear layer": (
            Edit(
                "config.yaml",
                "[q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]",
                "all-linear",
            ),
        ),
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
    },
)
