"""What goes wrong with pairs: DPO and reward models."""

from course_utils.explain.causes.cause import Cause

PREFERENCE = (
    Cause(
        "policy_is_reference",
        "policy and reference give the same log-probs for ever: the policy does not move",
        "load the adapter with is_trainable=True, and check the learning rate",
        "compare a weight before and after a step",
        "06_grad_fn",
        "audit_gradients",
        "trl#1311",
    ),
    Cause(
        "wrong_reference",
        "the rewards of DPO are far from 0 in the first step, where policy and reference must "
        "agree: the reference is not the model that is trained",
        "the same weights and template for both, no dropout",
        "log-probs of one pair in both",
        lesson="06_grad_fn",
        instrument="audit_gradients",
        thread="trl#1236",
    ),
    Cause(
        "dpo_start",
        "ln 2 = 0.6931 is where DPO starts: policy and reference are still the same",
        "none needed",
        "the margin of the next hundred steps",
        "06_grad_fn",
        healthy=True,
    ),
    Cause(
        "few_rows",
        "accuracies of only 0 and 1 come from a batch of one pair",
        "none needed; average over more steps",
        "a moving average",
        thread="LLaMA-Factory#5778",
        healthy=True,
    ),
    Cause(
        "at_chance",
        "accuracy, margin or loss stay where a coin would put them: nothing has been learned "
        "about the pairs so far",
        "a larger learning rate; check that chosen and rejected are not mixed up",
        "a handful of pairs read by hand",
    ),
    Cause(
        "margin_by_pushing_down",
        "the margin grows because the rejected replies lose faster than the chosen ones; both "
        "become unlikely, and so may the replies you want",
        "a smaller learning rate or larger beta; add the negative log-likelihood of the chosen",
        "sample replies and read them",
        thread="LLaMA-Factory#7643",
    ),
    Cause(
        "margin_saturated",
        "every pair is told apart with certainty, so the loss is 0 and nothing more is learned: "
        "the pairs differ in something trivial, or are known by heart",
        "fewer epochs or a smaller learning rate, harder pairs; look for what gives them away "
        "(length, template, language)",
        "the accuracy on pairs that were not trained on",
        thread="trl#1236",
    ),
    Cause(
        "pairs_inverted",
        "the run learns to prefer the rejected replies: chosen and rejected, or the sign of the "
        "loss, are mixed up",
        "look which column holds the better reply, and at the sign of beta",
        "a handful of pairs read by hand",
    ),
    Cause(
        "thrown_about",
        "the loss is above the one that an untrained policy has, and the rewards are far from 0: "
        "the steps are too long and throw the policy about",
        "a tenth of the learning rate, with warm-up; 5e-7 to 5e-6 is usual for DPO",
        "the margin at a smaller rate",
        thread="trl#1236",
    ),
)
