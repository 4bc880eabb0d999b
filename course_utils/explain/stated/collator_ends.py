"""Ends that the collator hides with the padding, whose token they are."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE
from course_utils.explain.paste.log import Log

_PAD_IS_END = re.compile(r"\bpad_token(?:_id)?\s*=\s*[\w.]*\beos_token(?:_id)?\b")
_OTHER_PAD = re.compile(
    r"\bpad_token(?:_id)?['\"]?\s*[:=]\s*['\"]<|add_special_tokens\(\s*\{\s*['\"]pad_token|"
    r"\bpad_token(?:_id)?\s*=\s*(?![\w.]*eos_token)[\w.]*(?:unk|convert_tokens_to_ids|reserved)"
)
_HIDES = re.compile(
    r"\bDataCollatorFor(?:LanguageModeling\((?!pad_token_id)(?!.*mlm\s*=\s*True)|"
    r"CompletionOnlyLM\().*"
)
_HAS_END = re.compile(
    r"\{[\w.]*\beos_token\}|[+]\s*[\w.]*\beos_token\b|\badd_eos_token\s*=\s*True|"
    r"(?:<\|end_of_text\|>|<\|endoftext\|>|</s>|<\|im_end\|>|<\|eot_id\|>|<eos>)['\"]\s*[,)\]]?$"
)
_RUNS_ON = re.compile(
    r"\b(?:does|do|did|will|would)(?: not|n't) (?:shut up|stop|end|finish)\b|"
    r"\bnever (?:stops?|ends?|finish\w*|emits?)\b|"
    r"\b(?:until|to|up to|hits?|reach\w*) (?:the )?max[_ ](?:new[_ ])?tokens\b|"
    r"\bkeeps? (?:on )?(?:going|generating|talking|writing)\b|\bgoes on and (?:on|asks?)\b",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\b(?:finished|ended|stopped|stops?|ends?) (?:with|by|at|on) (?:the )?(?:eos|end)\w*\W{1,3}"
    r"(?P<n>\d+) ?(?:/|of|out of) ?(?P<all>\d+)",
    re.IGNORECASE,
)
FEW = 0.2  # of the replies
UNLEARNT = (
    "the end of each row is not learnt: padding is the end token here, and the collator gives each "
    "token of the padding's id the label -100, the true end as well. So the model is never shown "
    "when to stop and writes on, whatever the row looks like; its loss looks healthy"
)
OWN_PAD = (
    "a padding token of its own (a reserved one of the tokenizer, not the end), or labels that are "
    "hidden by the attention mask and not by the id; see that the label under the last token of a "
    "row is the end, and train again. More epochs or a repetition penalty do not mend it"
)


def end_hidden_by_the_collator(beside: Beside, log: Log) -> Iterator[Finding]:
    """pad = eos, a collator that masks by id, rows with their end, and replies without one."""
    same, hides = beside.matching(_PAD_IS_END), beside.matching(_HIDES)
    has_end = beside.matching(_HAS_END)
    if same is None or hides is None or has_end is None or beside.matching(_OTHER_PAD):
        return
    runs_on = _few_end(beside) or beside.matching(_RUNS_ON)
    if runs_on is None:
        return
    shown = (same, hides, has_end, runs_on)
    proof = dict.fromkeys(f"{o.where} says: {o.text.strip()[:MAX_QUOTE]}" for o, _ in shown)
    yield Finding("pad_is_eos", 8.9, same[0], tuple(proof), why=UNLEARNT, advice=OWN_PAD)


def _few_end(beside: Beside):
    """A line that counts how few replies ended by themselves."""
    for line, words in beside.all_matching(_ENDED):
        found = _ENDED.search(words)
        if int(found["n"]) <= FEW * int(found["all"]):
            return line, words
    return None
