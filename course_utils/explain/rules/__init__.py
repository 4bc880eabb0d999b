"""Each rule looks at a log for one cause: `rule(log)` gives a Finding, or None.

Those of `RULES_OF_SETTINGS` are given what stands beside it as well: `rule(log, beside)`.
"""

from course_utils.explain.rules import (
    cache_kept,
    collapse,
    counted,
    distilled,
    drift,
    ends,
    epochs,
    evaluations,
    first_update,
    gradients,
    groups,
    hardly_moved,
    hidden,
    kept_in_bfloat16,
    learns_anyway,
    looks_worse,
    looks_wrong,
    measured,
    nonfinite,
    one_candidate,
    past_the_end,
    policy,
    pooled,
    preference,
    printed,
    rates,
    replies,
    reply_weights,
    resumes,
    reward_code,
    reward_patterns,
    rope_base,
    rows_by_id,
    rows_packed,
    same_scores,
    staleness,
    start,
    still,
    storage,
    summaries,
    sync,
    token_error,
    training,
    unfilled,
    unreached,
    unsent,
    without_advantage,
)

MODULES = (
    *(nonfinite, hidden, evaluations, gradients, groups, collapse, policy, replies),
    *(token_error, sync, drift, same_scores, reply_weights),
    *(preference, rates, start, still, training, measured, looks_wrong),
)
RULES = tuple(rule for module in MODULES for rule in module.RULES)
BESIDE_SETTINGS = (
    *(hidden, token_error, first_update, staleness, ends, resumes, unfilled),
    *(preference, sync, same_scores, summaries, epochs, past_the_end, training, hardly_moved),
    *(cache_kept, counted, distilled, one_candidate, pooled, storage, without_advantage),
    reward_patterns,
    *(reward_code, rows_by_id, kept_in_bfloat16, learns_anyway, rows_packed, looks_worse),
    *(rope_base, unreached, unsent),
)
RULES_OF_SETTINGS = (
    *printed.RULES,
    *(rule for module in BESIDE_SETTINGS for rule in module.RULES_OF_SETTINGS),
)
