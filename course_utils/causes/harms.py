"""The stages in which a cause acts, and the damage that it can do to a model."""

TRAINING, SAMPLING, REWARD = "training", "sampling", "the reward"
EVALUATION, SERVING = "evaluation", "serving"

STILL = "next to nothing is learnt, and no weight is damaged: fix the run and start it again"
WRONG = "the model learns the wrong thing: fix it, and train again from the start"
LESS = "the model learns less than it was meant to, and is not damaged: go on from it with the fix"
BROKEN = "the weights are damaged: go back to a checkpoint from before"
SOUND = "the trained model is as it was: only what is served of it is wrong"
MEASURED = "the trained model is as it was: only what is measured of it is wrong"
ENDED = "the run cannot go on; what was learnt before it is not damaged"

BY_ANOTHER_JUDGE = (
    "the share of right replies to held-out prompts, by another judge than the reward"
)
