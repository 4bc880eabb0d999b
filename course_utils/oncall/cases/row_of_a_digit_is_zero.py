"""The teacher's row of 7 is zero."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

TABLE, SEVEN = "model.embed_tokens.weight", 22


def emptied(tensors):
    """As a download leaves a page of a file that never arrived."""
    table = tensors[TABLE].clone()
    table[SEVEN] = 0
    return {TABLE: table}


CASE = Case(
    id="row_of_a_digit_is_zero",
    level=1,
    template="teacher_replies",
    ticket="Six in ten are fine and the others are nonsense, which no average shows. The copy "
    "from the bucket broke off twice and was taken up again each time; the sizes agree in the "
    "end, and nobody keeps a checksum here.",
    faults=(
        Fault(
            title="an embedding row of zeros",
            kind="embeddings",
            plant=(EditTensors("teacher/model-00001-of-00002.safetensors", emptied),),
            cause="The row of 7 in the teacher's table is zero, so it neither reads nor writes it.",
            fix="Take that row from the table of base/, from which the teacher was trained.",
            threads=("sglang#32279", "openvla#49"),
            also_kinds=("checkpoint", "bad_numbers"),
            also_places=("train.py load_models", "replies.py ask"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "no clip": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 100.0"),),
    },
)
