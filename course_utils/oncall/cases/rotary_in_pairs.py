"""Queries and keys of one shard are in the order of pairs, and are rotated by halves."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

HEADS = {"q_proj": 4, "k_proj": 2}


def in_pairs(tensor, num_heads):
    """Rows of each head as Meta's files and llama.cpp have them: 0, 32, 1, 33, ..."""
    halves = tensor.view(num_heads, 2, tensor.shape[0] // num_heads // 2, -1)
    return halves.transpose(1, 2).reshape(tensor.shape)


def paired(tensors):
    return {
        name: in_pairs(tensor, num)
        for name, tensor in tensors.items()
        for part, num in HEADS.items()
        if part in name
    }


CASE = Case(
    id="rotary_in_pairs",
    level=2,
    template="teacher_replies",
    ticket="Nothing it says has anything to do with the question, and it says it with great "
    "composure. We fetched what it imitates back from the format of our desktop app, because the "
    "original directory had been cleaned up; the app itself answers flawlessly with that file.",
    faults=(
        Fault(
            title="rows of queries and keys in another rotary order",
            kind="checkpoint",
            plant=(EditTensors("teacher/model-00001-of-00002.safetensors", paired),),
            cause="In the first shard the rows of each query and key head, and their biases, are "
            "in the order of pairs, as llama.cpp keeps them; this model rotates by halves.",
            fix="Undo the permutation of q_proj and k_proj, weights and biases, in that shard.",
            threads=("llama.cpp#3364", "TinyLlama#24", "transformers#31766"),
            also_kinds=("logp_mismatch", "packing"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "longer replies": (Edit("config.yaml", "reply_length: 8", "reply_length: 16"),),
    },
)
