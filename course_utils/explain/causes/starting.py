"""What is wrong from the start, or begins anew: guesses, steps that break, warm-ups."""

from course_utils.explain.causes.cause import Cause

STARTING = (
    Cause(
        "guesses",
        "the loss stands where a guess among all tokens stands: the model knows nothing, so its "
        "weights were not loaded or are broken",
        "load the weights again and look for names that were missing; only a model that is "
        "trained from scratch begins here",
        "the loss of the untrained model on one row",
        instrument="compare_models",
    ),
    Cause(
        "step_breaks_weights",
        "one step breaks what was there at a learning rate far too small to do it: not the "
        "step's size, but the update itself is wrong, or the next batch is other data",
        "look at the optimizer's state and format (float16, shards, a loaded optimizer.pt)",
        "the weights before and after the first step",
        lesson="03_reward_nan",
        instrument="watch",
        thread="gpt-neox#947",
    ),
    Cause(
        "warmup_never_ends",
        "the warm-up is longer than the run, so the learning rate that was asked for is never "
        "reached",
        "fewer warmup_steps, or warmup_ratio; count the optimizer steps of the run",
        "warm-up steps against optimizer steps",
        instrument="audit_step",
    ),
)
