"""Two layers of the teacher stand under each other's names."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

LAYERS = ("model.layers.2.", "model.layers.3.")


def exchanged(tensors):
    """As a loop over pipeline stages writes them that counts the layers of a stage backwards."""
    first, second = LAYERS
    return {
        name.replace(here, there): tensor
        for here, there in ((first, second), (second, first))
        for name, tensor in tensors.items()
        if name.startswith(here)
    }


CASE = Case(
    id="two_layers_exchanged",
    level=2,
    template="teacher_replies",
    ticket="It is calm, brief and nearly always wrong, although the distance to what it should "
    "imitate falls as nicely as ever. Yesterday's delivery has the same number of parameters, "
    "every shape fits, and whoever sent it swears that his copy solves everything on the old "
    "cluster, where it still lies in four parts.",
    faults=(
        Fault(
            title="two layers exchanged in a conversion",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00002-of-00002.safetensors", exchanged),),
            cause="The teacher's third layer stands under the name of the fourth, and the fourth "
            "under that of the third: the stages of a pipeline were joined with wrong offsets.",
            fix="Exchange the names of the two layers in the second shard (their input norms, "
            "compared with those of base/, show it).",
            threads=("transformers#24381", "gpt-neox#971"),
            also_kinds=("sharding", "stale_weights"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "softened": (Edit("config.yaml", "temperature: 1.0", "temperature: 2.0"),),
    },
)
