"""The teacher's settings say that its head is none of the table, and no shard holds one."""

from course_utils.oncall.declare import Case, Edit, EditJson, Fault


def untied(settings):
    settings["tie_word_embeddings"] = False


CASE = Case(
    id="head_drawn_anew",
    level=1,
    template="teacher_replies",
    ticket="Pure noise, and other noise with every seed. Not one matrix differs from the "
    "week that worked; I compared them all, bit by bit. In the viewer of the adapters team the "
    "very same directory answers properly, and they look at me as if it were my fault.",
    faults=(
        Fault(
            title="tied head declared to be untied",
            kind="embeddings",
            plant=(EditJson("teacher/config.json", untied),),
            cause="The teacher's config.json says that head and table are not tied, and no shard "
            "holds a head: it is drawn at random.",
            fix='Set "tie_word_embeddings" to true in teacher/config.json.',
            threads=("transformers#43429", "transformers#45156"),
            also_kinds=("checkpoint", "adapter"),
            also_places=("train.py load_models",),
        ),
    ),
    non_fixes={
        "higher rate": (Edit("config.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3"),),
        "longer replies": (Edit("config.yaml", "reply_length: 8", "reply_length: 16"),),
    },
)
