"""The square matrices of one shard are transposed; no shape tells."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault


def transposed(tensors):
    """As a check of shapes leaves them that only transposes what would not fit."""
    return {name: tensor.t() for name, tensor in tensors.items() if "o_proj" in name}


CASE = Case(
    id="squares_transposed",
    level=1,
    template="teacher_replies",
    ticket="The pupil repeats its master faithfully, and the master talks rubbish since it came "
    "back from the other framework, a way that the release notes call lossless. The import has "
    "served us for four models of other sizes and printed no warning.",
    faults=(
        Fault(
            title="square matrices transposed",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00001-of-00002.safetensors", transposed),),
            cause="o_proj of the first shard is transposed: the import compared shapes to see "
            "what to transpose, and of a square matrix they are equal.",
            fix="Transpose o_proj of both layers in that shard.",
            threads=("transformers#47031",),
            also_kinds=("bad_numbers", "adapter"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "softened": (Edit("config.yaml", "temperature: 1.0", "temperature: 2.0"),),
        "longer replies": (Edit("config.yaml", "reply_length: 8", "reply_length: 16"),),
    },
)
