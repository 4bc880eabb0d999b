"""The teacher's table has the rows of 3 and 8 in each other's place."""

from course_utils.oncall.declare import Case, Edit, EditTensors, Fault

TABLE, THREE, EIGHT = "model.embed_tokens.weight", 18, 23


def exchanged(tensors):
    """As a table is resized for a vocabulary in which the two stand the other way round."""
    table = tensors[TABLE].clone()
    table[[THREE, EIGHT]] = table[[EIGHT, THREE]]
    return {TABLE: table}


CASE = Case(
    id="rows_of_two_digits_exchanged",
    level=1,
    template="teacher_replies",
    ticket="About every second result is off, and by a lot: tens, fifties. The rest is perfect, "
    "so I looked for a size or a carry that they have in common and found none. It is the same "
    "questions each time, whatever the seed.",
    faults=(
        Fault(
            title="rows of an embedding table exchanged",
            kind="embeddings",
            plant=(EditTensors("teacher/model-00001-of-00002.safetensors", exchanged),),
            cause="In the teacher's embedding table 3 has the row of 8, and 8 that of 3, so it "
            "reads and writes one for the other.",
            fix="Exchange the two rows, or take the table of base/, from which it was trained.",
            threads=("OpenP5#4", "transformers#3366"),
            also_kinds=("checkpoint", "retokenised"),
            also_places=("train.py load_models", "replies.py ask"),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "longer replies": (Edit("config.yaml", "reply_length: 8", "reply_length: 16"),),
    },
)
