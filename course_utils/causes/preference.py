"""Pairs: their order, prompts, reference and strength."""

from course_utils.causes.cause import WARNED, Cause, Phrase, keys
from course_utils.causes.harms import STILL, WRONG
from course_utils.causes.shared import NOTHING_MOVES, OUTCOME

PREFERENCE = (
    Cause(
        "policy_is_reference",
        "policy and reference give the same log-probs for ever: the policy does not move",
        "load the adapter with is_trainable=True, and check the learning rate",
        "compare a weight before and after a step",
        lesson="06_grad_fn",
        met="is_trainable",
        instrument="audit_gradients",
        thread="trl#1311",
        kinds=("preference", "no_grad"),
        harm=STILL,
        explains=keys("dpo_start"),
    ),
    Cause(
        "beta_zero",
        "beta is 0: the loss of DPO is ln 2 whatever the model says, its rewards are 0, and no "
        "gradient comes of it",
        "a beta above 0, 0.1 for instance",
        "the beta that the trainer was given",
        thread="trl#1627",
        kinds=("preference",),
        harm=STILL,
        explains=NOTHING_MOVES | keys("dpo_start rows_pooled_wrong pairs_alike"),
    ),
    Cause(
        "wrong_reference",
        "the rewards of DPO are far from 0 in the first step, where policy and "
        "reference must agree: the reference is not the model that is trained",
        "the same weights and template for both, no dropout",
        "log-probs of one pair in both",
        instrument="audit_gradients",
        thread="trl#1236",
        kinds=("preference",),
        harm=WRONG,
        explains=keys("dpo_start policy_is_reference thrown_about"),
        hidden_by_low_loss=True,
        speaks_of=frozenset({"reference", "reference's logits"}),
        beside="reference",
        one_fix="ref_model=None: the reference is then the model as it begins",
    ),
    Cause(
        "reference_moves",
        "the reference is the policy itself, and moves with it",
        "a frozen copy, or ref_model=None with an adapter",
        "whether both share memory",
        instrument="compare_models",
        thread="trl#1236",
        kinds=("kl_place", "preference"),
        harm=WRONG,
        explains=NOTHING_MOVES,
        speaks_of=frozenset({"reference", "reference's logits"}),
        phrases=(Phrase(r"`model` and `ref_model` cannot be the same object"),),
    ),
    Cause(
        "dpo_start",
        "ln 2 = 0.6931 is where DPO starts: policy and reference are still the same",
        "none needed",
        "the margin of the next hundred steps",
        lesson="03_reward_nan",
        met="ln 2",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "kl_cut_off",
        "the KL of KTO is an estimate from replies to other prompts, and what falls below 0 is cut "
        "off: a 0 says that the estimate was negative, not that policy and reference agree",
        "none needed while the margin grows; larger batches make the estimate steadier",
        "the margin and the loss; logits are sums over a batch and no measure",
        healthy=True,
    ),
    Cause(
        "few_rows",
        "accuracies of only 0 and 1 come from a batch of one pair",
        "none needed; average over more steps",
        "a moving average",
        thread="LLaMA-Factory#5778",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "at_chance",
        "accuracy, margin or loss stay where a coin would put them: nothing has been "
        "learned about the pairs so far",
        "a larger learning rate; check that chosen and rejected are not mixed up",
        "a handful of pairs read by hand",
        kinds=("preference",),
        harm=STILL,
        explains=keys("dpo_start few_rows"),
    ),
    Cause(
        "pairs_alike",
        "chosen and rejected are the same tokens in many pairs, so nothing can be learnt from them",
        "drop those pairs; look at truncation",
        "the tokens in which the pairs differ",
        instrument="inspect_batch",
        kinds=("preference",),
        harm=STILL,
        explains=NOTHING_MOVES
        | keys("weight_without_gradient replies_empty rows_pooled_wrong policy_is_reference")
        | keys("rate_too_low"),
        inferred=True,
        follows=OUTCOME,
        speaks_of=frozenset({"gradients", "pairs", "reference's logits", "tokens"}),
        one_fix="drop the pairs whose replies are the same tokens",
    ),
    Cause(
        "length_tells",
        "in every pair the same side is the longer one, so that the length alone tells chosen from "
        "rejected: a reward model learns to score the length",
        "pairs whose lengths do not tell chosen from rejected: balance them, or cut both alike",
        "the scores of two right answers of different lengths",
        kinds=("preference", "reward_hacking"),
        harm=WRONG,
        would_show="the share of pairs of like lengths that it ranks right",
    ),
    Cause(
        "ending_tells",
        "nearly every reply of one side ends in a token that no reply of the other ends in, so "
        "that this token alone tells chosen from rejected: a reward model learns to score it",
        "end both sides alike: add the marker to both, or to neither",
        "the scores of one right and one wrong answer, both with the marker and both without",
        kinds=("preference", "reward_hacking"),
        harm=WRONG,
        would_show="the share of pairs that end alike which it ranks right",
    ),
    Cause(
        "form_tells",
        "chosen and rejected are written in two forms, as where a text was cleaned on one side "
        "alone, so that the form tells them apart: a reward model learns to score it",
        "clean both sides alike (capital letters, marks, signatures), or neither; train again",
        "the scores of one reply in both forms",
        kinds=("preference", "reward_hacking"),
        harm=WRONG,
        would_show="the share of pairs in one form that it ranks right",
    ),
    Cause(
        "pair_prompts_differ",
        "chosen and rejected do not begin with the same prompt tokens",
        "tokenize the prompt alone, or render both with one template",
        "the first token in which they differ",
        instrument="inspect_batch",
        thread="trl#2371",
        kinds=("preference",),
        harm=WRONG,
        speaks_of=frozenset({"gradients", "pairs", "reference's logits", "tokens"}),
        phrases=(
            Phrase(r"tokenized prompt is not a prefix of the", WARNED),
            Phrase(r"Mismatch between tokenized prompt and the start of", WARNED),
        ),
    ),
    Cause(
        "pairs_inverted",
        "the run learns to prefer the rejected replies: chosen and rejected, or the "
        "sign of the loss, are mixed up",
        "look which column holds the better reply, and at the sign of beta",
        "a handful of pairs read by hand",
        kinds=("preference",),
        harm=WRONG,
        inferred=True,
    ),
    Cause(
        "margin_by_pushing_down",
        "the margin grows because the rejected replies lose faster than the chosen "
        "ones; both become unlikely, and so may the replies you want",
        "a smaller learning rate or larger beta; add the negative log-likelihood of the chosen",
        "sample replies and read them",
        thread="LLaMA-Factory#7643",
        kinds=("preference",),
        harm=WRONG,
        inferred=True,
        one_fix="a tenth of the learning rate",
    ),
    Cause(
        "margin_saturated",
        "every pair is told apart with certainty, so the loss is 0 and nothing more is "
        "learned: the pairs differ in something trivial, or are known by heart",
        "fewer epochs or a smaller learning rate, harder pairs; look for what gives "
        "them away (length, template, language)",
        "the accuracy on pairs that were not trained on",
        thread="trl#1236",
        kinds=("preference",),
    ),
    Cause(
        "thrown_about",
        "the loss is above the one that an untrained policy has, and the rewards are "
        "far from 0: the steps are too long and throw the policy about",
        "a tenth of the learning rate, with warm-up; 5e-7 to 5e-6 is usual for DPO",
        "the margin at a smaller rate",
        thread="trl#1236",
        kinds=("preference",),
        settings_fix="a tenth of the rate",
    ),
    Cause(
        "only_the_margin",
        "negative rewards are no fault: the loss of DPO sees only their difference, and the chosen "
        "reply has to lose less than the rejected one",
        "none needed; a lower rate or a higher beta if the chosen one falls far",
        "whether rewards/chosen keeps falling",
        thread="tiny-llm-zh#15",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "prompts_alike",
        "all pairs have the same prompt: the policy learns which replies are liked, whatever is "
        "asked",
        "the column of the real questions as prompt",
        "three rows of the data set, as the trainer has them",
        kinds=("preference", "template"),
        harm=WRONG,
    ),
)
