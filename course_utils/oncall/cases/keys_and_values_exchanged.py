"""One shard has keys and values under each other's names."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

NAMES = (("k_proj", "v_proj"), ("v_proj", "k_proj"))


def exchanged(tensors):
    """As a fused matrix is cut with the offsets of the two interchanged."""
    return {
        name.replace(here, there): tensor
        for here, there in NAMES
        for name, tensor in tensors.items()
        if f".{here}." in name
    }


CASE = Case(
    id="keys_and_values_exchanged",
    level=1,
    template="teacher_replies",
    ticket="Zero. Not low: zero, over all held-out questions and on three machines, and yet it "
    "ends each turn where it should. The export script that made the weights was rewritten on "
    "Monday to need less memory, and all of its tests are green.",
    faults=(
        Fault(
            title="keys and values exchanged",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00001-of-00002.safetensors", exchanged),),
            cause="In the teacher's first shard k_proj holds the values' projection and v_proj the "
            "keys': a fused matrix was sliced at the wrong offsets.",
            fix="Exchange k_proj and v_proj, weights and biases, in both layers of that shard.",
            threads=("transformers#40257", "transformers#40253"),
            also_kinds=("sharding", "adapter"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
