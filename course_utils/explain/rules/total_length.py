"""Replies and prompts that fill the whole length of a row together: `rule(log, beside)`."""

import re
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite

_TOTAL = re.compile(
    r"\b(?:max_total_sequence_length|max_model_len|max_total_tokens|context_length)['\"]?\W{1,3}(\d+)"
)
_PROMPT = re.compile(
    r"\b(?:mean_)?prompt_length\w*\b\D{0,25}?(\d+(?:\.\d+)?)|\bprompt_length/mean\W{1,3}(\d+(?:\.\d+)?)"
)
NEAR, POOR, FEW = 0.04, 0.1, 3  # of the length; a reward; entries
FULL = (
    "nearly every reply is cut before it ends: prompt ({prompt:g} tokens) and reply ({reply:.4g} "
    "on average) fill the {total:g} tokens of {name} together, so that the limit of the reply is "
    "never reached and no reply counts as cut. What is cut has no answer, and earns nothing"
)
LONGER = (
    "a total length that holds prompt and reply (for reasoning models 8,192 tokens and more), with "
    "max_new_tokens and the engine's own limit raised as well; validation must then be near what "
    "the model is known for, before any training. The verifier is not shown to be at fault"
)


def fills_the_row(log: Log, beside: Beside) -> Finding | None:
    """Mean prompt and reply are the total length together, and next to nothing is earned."""
    lengths, rewards = finite(log.values("length")), finite(log.values("reward"))
    total, prompt = beside.first(_TOTAL), beside.first(_PROMPT)
    if not total or not prompt or len(lengths) < FEW or not rewards or max(rewards) > POOR:
        return None
    whole, asked = float(total[1][1]), float(prompt[1][1] or prompt[1][2])
    reply = fmean(lengths)
    if abs(asked + reply - whole) > NEAR * whole or asked >= whole:
        return None
    proof = (total[0].says, prompt[0].says, f"the reward is {max(rewards):.3g} at most")
    name = re.split(r"\W", total[1][0])[0]
    why = FULL.format(prompt=asked, reply=reply, total=whole, name=name)
    return Finding("rewards_cut", 8.4, total[0], proof, why=why, advice=LONGER)


RULES_OF_SETTINGS = (fills_the_row,)
