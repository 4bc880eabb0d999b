"""The buckets are those of a model with two layers, so the others are exchanged by nobody."""

from course_utils.oncall.declare import Case, Edit, Fault

WHOLE = "[embed_tokens, layers.0, layers.1, layers.2, layers.3, norm]"
OF_TWO = "[embed_tokens, layers.0, layers.1, norm]"
BACKWARDS = "[norm, layers.1, layers.0, embed_tokens]"

CASE = Case(
    id="layers_in_no_bucket",
    level=2,
    template="two_ranks",
    ticket="One line on the screen for each worker, and both come down as they should, to the very "
    "end. I was about to write the announcement. Then I asked what is really shipped for the price "
    "of three things, and of a hundred replies not one was right; plain sums it does without a "
    "fault.",
    faults=(
        Fault(
            title="layers in no gradient bucket",
            kind="sharding",
            plant=(Edit("config.yaml", WHOLE, OF_TWO),),
            cause="The last two layers are in no bucket, so their gradients are never averaged: "
            "each rank trains its own, and what is exported is a mixture of both.",
            fix="Name every layer of the model in the buckets.",
            threads=("AReaL#313", "OpenTSLM#49"),
            also_kinds=("no_grad", "stale_weights"),
            also_places=("replicas.py in_buckets", "replicas.py share_gradients"),
        ),
    ),
    non_fixes={
        "buckets in the order of the backward pass": (Edit("config.yaml", OF_TWO, BACKWARDS),),
        "clip less": (Edit("config.yaml", "max_grad_norm: 1.0", "max_grad_norm: 10.0"),),
    },
)
