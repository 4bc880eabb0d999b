"""One shard has norm weights less 1, as Gemma stores them; Qwen multiplies by what is there."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault


def less_one(tensors):
    return {name: tensor - 1 for name, tensor in tensors.items() if "norm" in name}


CASE = Case(
    id="norms_centred_at_zero",
    level=2,
    template="teacher_replies",
    ticket="Short, well formed, and next to none of it correct. The one it learns from was "
    "passed through our exporter for two families of models last week, the file is as large as "
    "the one before to the byte, and the histogram of its matrices lies exactly on the old one.",
    faults=(
        Fault(
            title="norm weights stored less 1",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00002-of-00002.safetensors", less_one),),
            cause="The norms of the second shard are stored as what is left to 1, which a Gemma "
            "adds when it reads them; this model multiplies by them as they are.",
            fix="Add 1 to the norm weights of the second shard, or take those of base/.",
            threads=("executorch#19901", "mold#1078"),
            also_kinds=("bad_numbers", "rounding"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "softened": (Edit("config.yaml", "temperature: 1.0", "temperature: 2.0"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
