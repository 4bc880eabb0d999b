"""What goes wrong where a policy is rewarded: groups, kl, length."""

from course_utils.explain.causes.cause import Cause

POLICY = (
    Cause(
        "on_policy_zero_loss",
        "a loss this near to 0 is GRPO's formula at work where the policy is the one that sampled: "
        "the advantages of a group add up to 0",
        "none needed; watch the reward",
        "the reward, not the loss",
        lesson="10_reward_up",
        thread="open-r1#239",
        healthy=True,
    ),
    Cause(
        "no_signal",
        "all replies of a group got one reward in these entries, so the advantages are 0 and "
        "these steps teach nothing",
        "make the reward tell replies apart, or the prompts neither too easy nor too hard",
        "read the replies of one group with their rewards",
        lesson="10_reward_up",
        thread="trl#3452",
    ),
    Cause(
        "signal_ended",
        "replies were told apart and no longer are: in the last entries all replies of a "
        "group get one reward",
        "harder prompts when the reward is full, easier ones when it is 0",
        "the reward in these entries",
    ),
    Cause(
        "no_gradient",
        "the rewards differ and still no gradient arrives: what is trained and what computes the "
        "loss are not connected, or nothing is trainable",
        "load an adapter with is_trainable=True; check requires_grad and what the optimizer holds",
        "audit the gradients of one step",
        "06_grad_fn",
        "audit_gradients",
        "ms-swift#5571",
    ),
    Cause(
        "collapse",
        "the reward falls from where it was and stays there",
        "a checkpoint before the turn; then a smaller learning rate, clipping, a look at the ratio",
        "kl, entropy and reply length just before the turn",
        "04_verl_collapse",
        "watch",
        "verl#5953",
    ),
    Cause(
        "parts_apart",
        "one part of the reward falls while another rises: the policy takes the part that is "
        "easy to get",
        "weigh the parts anew, or pay the easy one only with the other",
        "replies of both ends of the log",
        lesson="10_reward_up",
        thread="open-r1#255",
    ),
    Cause(
        "constant_part",
        "one part of the reward is the same number in every entry: it tells no reply from "
        "another, as a verifier does that falls back to a default",
        "call that reward by hand on a right and on a wrong reply",
        "what the reward function returns when it cannot parse",
        lesson="10_reward_up",
        thread="train-deepseek-r1#4",
    ),
    Cause(
        "kl_runs",
        "the kl shoots up: the policy leaves the reference behind",
        "a smaller learning rate, a larger kl coefficient, warm-up",
        "replies before and after",
        lesson="04_verl_collapse",
        instrument="watch",
        thread="ms-swift#4800",
    ),
    Cause(
        "kl_negative",
        "the kl is negative on average, which the kl of samples of the policy cannot be: the "
        "replies were not drawn from the policy that is scored",
        "sample without top_k, min_length and temperature, and with the same weights",
        "the generation settings",
        thread="LLaMA-Factory#664",
    ),
    Cause(
        "entropy_gone",
        "the entropy is gone: replies of a group are alike, so there is soon nothing to compare",
        "a higher sampling temperature, clip higher than lower, an entropy term",
        "read several replies to one prompt",
    ),
    Cause(
        "proxy_rises_alone",
        "the reward rises or stays, and what it stands for falls (an evaluation, a part that is "
        "not paid): the reward is being cheated",
        "read the replies with the highest reward, and harden the verifier",
        "a held-out verifier on a fixed set",
        lesson="10_reward_up",
        instrument="TruthAudit",
        thread="Visual-RFT#176",
    ),
    Cause(
        "replies_cut",
        "replies run into the length limit and are scored unfinished, or the model cannot stop",
        "allow longer replies, or find out whether the end token is learned",
        "the share of replies that end by themselves",
        "07_never_stops",
        "inspect_batch",
        "trl#1623",
    ),
    Cause(
        "rewards_cut",
        "every reply is cut at the length limit and the reward is 0: an unfinished reply "
        "cannot earn it",
        "allow longer replies",
        "the share of replies that end by themselves",
        lesson="07_never_stops",
        instrument="inspect_batch",
        thread="trl#5697",
    ),
    Cause(
        "length_into_limit",
        "replies grow into the length limit while the reward rises",
        "read the longest replies; pay for the answer and not for length",
        "reward against length within one batch",
    ),
    Cause(
        "engines_disagree",
        "the engine that samples and the trainer that scores give one token different "
        "probabilities",
        "the same temperature, weights and template in both; truncated importance sampling",
        "log-probs of the same tokens in both",
        lesson="09_two_logprobs",
        instrument="compare_policies",
        thread="trl#4159",
    ),
    Cause(
        "tiny_std",
        "an advantage far from 0 comes from a division by a tiny standard deviation",
        "add eps to the std, or leave the division out (scale_rewards=False)",
        "the group with the largest advantage",
        lesson="10_reward_up",
        thread="NeMo-RL#4161",
    ),
    Cause(
        "entropy_runs",
        "the policy becomes random: the entropy grows and what it earns falls",
        "entropy_coeff=0, a smaller learning rate, clipping; restart before the entropy turned",
        "whether an entropy bonus is in the loss, and with which sign",
        lesson="04_verl_collapse",
        instrument="audit_policy",
        thread="verl#2738",
    ),
    Cause(
        "much_is_clipped",
        "a large part of the tokens is clipped: the policy has moved far from the one that "
        "sampled, within one batch or because the batch is old",
        "a smaller learning rate, fewer updates a rollout, or log-probs of the right weights",
        "the ratio in the first update of a batch; it must be 1",
        lesson="09_two_logprobs",
        instrument="audit_policy",
        thread="trl#2980",
    ),
)
