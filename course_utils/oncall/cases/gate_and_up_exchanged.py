"""One shard has the gate and the up projection of each MLP under the other's name."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

NAMES = (("gate_proj", "up_proj"), ("up_proj", "gate_proj"))


def exchanged(tensors):
    """As a fused matrix is cut whose halves are the other way round."""
    return {
        name.replace(here, there): tensor
        for here, there in NAMES
        for name, tensor in tensors.items()
        if f".{here}." in name
    }


CASE = Case(
    id="gate_and_up_exchanged",
    level=2,
    template="teacher_replies",
    ticket="It got some forty in a hundred, and had ninety in spring. The curves are smooth and "
    "end low, so whatever it was taught, it has learnt. The only news is that the supplier's file "
    "has four names less than before, and that what platform gives us has all of them again.",
    faults=(
        Fault(
            title="halves of a fused MLP matrix exchanged",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00002-of-00002.safetensors", exchanged),),
            cause="In the teacher's second shard gate_proj holds the up projection and up_proj the "
            "gate: the halves of a fused matrix were cut in the wrong order.",
            fix="Exchange gate_proj and up_proj in both layers of that shard.",
            threads=("openvino#32683", "Megatron-LM#7161", "ROCmFPX#49"),
            also_kinds=("adapter", "sharding"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "softened": (Edit("config.yaml", "temperature: 1.0", "temperature: 2.0"),),
    },
)
