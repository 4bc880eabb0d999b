"""One matrix is stored without its scale, as an eighth of what is meant by 1 in it."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

NAME, SCALE = "model.layers.2.mlp.gate_proj.weight", 0.125


def unscaled(tensors):
    return {NAME: tensors[NAME] / SCALE}


CASE = Case(
    id="scale_left_out",
    level=1,
    template="teacher_replies",
    ticket="Half a day's compute, and we get numbers with the proper count of digits that are "
    "not the sums. What it listens to is the one from the demo, only saved again "
    "in a format that loads everywhere. Nothing is missing in it, nothing is infinite, and the "
    "demo was a success.",
    faults=(
        Fault(
            title="scale of an eight-bit matrix not applied",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00002-of-00002.safetensors", unscaled),),
            cause="The teacher's gate_proj of its third layer is eight times too large: it was "
            "cast from eight bits, and its scale, 0.125, was not applied.",
            fix="Multiply that matrix by 0.125; its spread is then that of the other layers.",
            threads=("unsloth#6200", "LTX-2#172"),
            also_kinds=("bad_numbers", "rounding", "half_precision"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "softened": (Edit("config.yaml", "temperature: 1.0", "temperature: 2.0"),),
    },
)
