"""The names that trainers give to one quantity, and the name used here."""

import re
from functools import lru_cache

# First match wins; matched against the lower-cased name, spaces around "/" removed.
_PATTERNS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        (
            "step",
            r"(train(er|ing)?/)?(global_)?steps?|opt(im(izer)?)?_step|current_steps|it(er(ation)?s?)?|num_updates|global_step/max_steps",
        ),
        ("epoch", r"(train(er|ing)?/)?epochs?"),
        ("skipped", r"number of skipped iterations|skipped( steps)?"),
        (
            "eval_loss",
            r"(eval|val(id)?|validation|test|dev)[_/ ]loss|"
            r"loss[_/ ](eval|val(id)?|validation|test|dev)",
        ),
        (
            "eval_accuracy",
            r"(eval|val(id)?|test|held_out|val-core)[_/](?!rewards?/\w*_reward|rm_).*(acc|accuracy|score|mean@\d+).*",
        ),
        (
            "eval_accuracy",
            r"((eval|val|test)[_/])?(llm_|gpt-?4_)?(judge|human|gold)[_/ ]?"
            r"(win|score|pref)\w*|(eval[_/])?win_?rate\w*",
        ),
        ("eval_f1", r"(eval|val(id)?|test)[_/](\w+[_/])?(f1|recall)([_-]?(score|macro|micro))?|f1"),
        ("eval_error", r"((eval|val(id)?|test)[_/ ])?(\w+_)?(wer|cer)"),
        ("eval_length", r"(eval|val(id)?|test)[_/]gen_len|gen len"),
        ("eval_correlation", r"(eval|val(id)?|test)[_/].*(pearson|spearman|matthews).*"),
        (
            "chosen_reward",
            r"(train/)?rewards/chosen|chosen_rewards?|(mean )?r(eward)?\(chosen\)|"
            r"rew(ard)?_c(hosen)?|r_w",
        ),
        (
            "rejected_reward",
            r"(train/)?rewards/rejected|reject(ed)?_rewards?|(mean )?r(eward)?\(rejected\)|"
            r"rew(ard)?_r(ej(ected)?)?|r_l",
        ),
        ("margin", r"(train/)?rewards?[/_]margins?|margins?"),
        (
            "accuracy",
            r"(train/)?rewards?[/_]acc(urac(y|ies))?|"
            r"(train[_ ]|pair[_ ]|pref(erence)?[_ ])?acc(uracy)?",
        ),
        ("token_accuracy", r"(train/)?(mean_)?token_acc(uracy)?"),
        ("tokens", r"(train/)?(num_tokens|num_input_tokens_seen)"),
        (
            "reference_logp",
            r"ref\(chosen\)|ref_w|(train/)?ref(erence)?_(logps?/chosen|chosen_logps?)",
        ),
        (
            "chosen_logp",
            r"(train/)?logps/chosen|(pi|policy)\(chosen\)|policy_chosen_logps?|"
            r"log_?ps?_c(hosen)?|lp_w",
        ),
        ("rejected_logp", r"(train/)?logps/rejected|log_?ps?_r(ej(ected)?)?|lp_l"),
        ("log_odds", r"(train/)?log_odds_(ratio|chosen)"),
        ("chosen_logit", r"(train/)?logits/chosen"),
        ("rejected_logit", r"(train/)?logits/rejected"),
        ("critic_loss", r"critic/vf_loss|vf_loss|value_loss|critic[_ ]loss|loss/value_avg"),
        (
            "critic_value",
            r"critic/vpred_mean|values|(critic/)?values?[_/]mean",
        ),
        ("returns", r"returns|(critic/)?returns?[_/]mean"),
        ("critic_grad_norm", r"critic/grad_norm"),
        (
            "policy_loss",
            r"actor/(pg|policy)_loss|(train/)?(pg|policy)_loss|act(or)?[_ ]loss|loss/policy_avg|pg",
        ),
        (
            "rollout_kl",
            r"(\w+/)?(rollout_corr|mismatch)/(rollout_)?(k3_)?kl|"
            r"(\w+/)*(vllm_kl|roll_kl|mismatch_kl(/mean)?|train_rollout_kl)",
        ),
        (
            "effective_share",
            r"(\w+/)*(rollout_(corr|is)[_/])?(ess(_ratio)?|(rollout_is_)?eff(ective)?_sample_size)",
        ),
        ("trainer_perplexity", r"(\w+/)*(rollout_corr[/_])?training_ppl"),
        ("sampler_perplexity", r"(\w+/)*(rollout_corr[/_])?rollout_ppl"),
        ("token_error", r"(train/)?token[_ ]mult[_ ]prob[_ ]error"),
        ("kl_loss", r"(actor/|train/)?kl_loss"),
        ("kl_coefficient", r"actor/kl_coef|(critic/|objective/)?kl_coef"),
        ("old_kl", r"(actor|train)/ppo_kl|policy/approxkl_avg"),
        (
            "kl",
            r"(train/)?(actor/|critic/|objective/)?(ref_|rollout_)?kl|(train/)?mean_kl|policy/policy_kl",
        ),
        (
            "entropy",
            r"(train/)?(actor/)?(policy/(policy_)?)?entropy(_loss|_avg|_mean)?|ppo_actor/update/entropy/avg",
        ),
        (
            "clip_ratio",
            r"(actor/|train/)?pg_clipfrac|(policy/loss_metrics/)?clip_ratio(/region_mean)?|(policy/)?clip_?frac(tion|_avg)?",
        ),
        (
            "reward_std",
            r"(train/)?(rewards?_std([_/](in|within|per)_group)?|rewards?/std|grouped_reward_std|"
            r"critic/score/std)",
        ),
        ("zero_std_share", r"(train/)?frac_reward_zero_std"),
        ("part_std", r"(train/)?rewards?/[^/:=]+/std"),
        (
            "reward",
            r"(train/)?(reward|rewards?/mean|(mean|avg|average)[_ ]reward( score)?|reward_mean|rm|"
            r"rm_score|critic/(score|rewards)/mean|objective/scores|ppo/mean_scores|env/reward_mean|rollout/raw_reward|reward/avg_raw_reward|"
            r"rollout/reward|ppo_actor/task_reward/avg)",
        ),
        ("advantage_max", r"critic/advantages/max|advantages?/max"),
        ("advantage_mean", r"(critic/)?advantages?/(mean|avg)"),
        ("advantage_min", r"(critic/)?advantages?/min"),
        (
            "importance_ratio",
            r"(train/)?sampling/importance_sampling_ratio/mean|.*rollout_is_mean|"
            r"(train/)?(sampling_)?importance_(sampling_)?ratio|"
            r"importance ratio|ppo_actor/update/behave_imp_weight/avg",
        ),
        (
            "logp_difference",
            r"(train/)?(sampling/sampling_logp_difference/mean|train_rollout_logprob_abs_diff)|"
            r"generation kl error|(train/)?gen_kl_error|"
            r"(policy/)?rollout_train_logprobs_abs_diff_mean|(lp|log_?p(rob)?s?)_?abs_?diff",
        ),
        ("logp_difference_max", r"(train/)?sampling/sampling_logp_difference/max"),
        ("teacher_logp", r"(\w+/)*teacher_(lp|logps?|log_?probs?)([_/]mean)?"),
        ("student_logp", r"(\w+/)*student_(lp|logps?|log_?probs?)([_/]mean)?"),
        ("student_mass", r"(\w+/)*student_(topk_)?mass([_/]mean)?"),
        (
            "divergence",
            r"(\w+/)*(distill(ation)?[_/](\w+[_/])?(loss|kl)|rkl/tok|kl/tok|kd_loss|loss_kd)(/mean)?",
        ),
        ("tool_calls", r"(train/)?tools/call_frequency|(\w+/)*(num_)?tool_calls?(/mean)?"),
        ("update_size", r"(\w+/)*(param|weight|update)_(l2_)?(change|delta)(_norm)?|update_norm"),
        ("router_loss", r"(train/)?(router_)?(aux|load_balancing)_loss"),
        ("probability_difference", r"(training/)?rollout_probs_diff_mean"),
        ("probability_correlation", r"(training/)?rollout_actor_probs_pearson_corr"),
        (
            "staleness",
            r"(\w+/)*((sample_)?staleness(_theta)?|updates_since_(sampled|sync))([_/](avg|mean))?",
        ),
        ("gen_batches", r"(train/)?num_gen_batches"),
        ("num_eos", r"val/num_eos_tokens"),
        (
            "truncated_share",
            r"(train/)?(completions/)?clipped_ratio|response_length/clip_ratio|"
            r"(rollout/)?trunc(at(ed?|ion))?[_/](ratio|frac(tion)?|share|rate)|rollout/truncated",
        ),
        ("longest", r"(train/)?completions/max_length|response_length/max"),
        ("overlong_share", r"(\w+/)*overlong([/_](mean|share|ratio))?"),
        (
            "queued",
            r"(\w+/)*(out_?q|q(ueue)?_?(size|len(gth)?|depth)|queue/size|backlog|"
            r"(queued|ready)_(groups|samples|batches|rollouts))",
        ),
        ("throughput", r"(\w+/)*throughput|(\w+/)*tokens?_per_sec(ond)?"),
        (
            "length",
            r"(train/)?(completions?/)?mean_length|completion_length|response_length(/mean)?|"
            r"resp(onse)?_len|glen|rollout/response_len/mean|mean generation length|"
            r"(mean|avg)_(resp(onse)?_|reply_|completion_)?len(gth)?|rollout/response_lengths?|"
            r"generate/avg_num_tokens|(train/)?mean_gen_tokens_per_sample",
        ),
        (
            "grad_norm",
            r"(train/)?(actor/|policy/|ppo_actor/update/)?(policy_|actor_)?grad(ient)?\.?[_ ]?norm|"
            r"g_?norm|gradnorm|gn|\|g\||(total|global)_(grad_)?norm",
        ),
        (
            "learning_rate",
            r"(train/)?(actor/)?(learning[_ ]rate|lr)|act(or)?_lr|policy/policy_lr|"
            r"ppo_actor/update/lr",
        ),
        ("loss_scale", r"((loss|grad|amp|scaler|fp16)[_ ])?scale|loss_scaler?|scaler"),
        (
            "loss",
            r"(train/|actor/|training[ _]|minibatch |lm[ _]|total_|gpt_)?loss|"
            r"train[ _]loss(_step)?|loss[ _/]train(ing)?|objective/loss|tensor|reduced_train_loss|"
            r"(dpo|rm|reward_model|step|pair(wise)?|rank(ing)?)_loss|train loss/train/total",
        ),
    )
)
_PART = re.compile(r"(train/|eval_)?rewards?/(?P<part>[^/:=]+)(/mean)?")
_NOT_PARTS = {"std", "mean", "max", "min", "chosen", "rejected", "margins", "accuracies"}


_OF_SEVERAL = re.compile(r"(?<=\w) ?\((?:avg|mean|ema|ma|last|running) ?\d*\)$")  # loss(avg100)


@lru_cache(maxsize=4096)
def canonical(name: str) -> str | None:
    """The name used here for a field of a log; None for one that no rule reads.

    >>> canonical("actor/grad_norm"), canonical("Training Loss"), canonical("timing_s/gen")
    ('grad_norm', 'loss', None)
    >>> canonical("rewards/format_reward")
    'part:format_reward'
    """
    plain = _OF_SEVERAL.sub("", re.sub(r"\s*/\s*", "/", name.strip().lower()))
    for known, pattern in _PATTERNS:
        if pattern.fullmatch(plain):
            return known
    part = _PART.fullmatch(plain)
    return f"part:{part['part']}" if part and part["part"] not in _NOT_PARTS else None
