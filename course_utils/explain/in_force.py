"""Advice that a log shows to be followed already, which is left out of the answer."""

import re
from collections.abc import Iterator
from dataclasses import replace

from course_utils.explain.clauses import clauses
from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_SHOWN_BY = (  # words of advice, and what a log that follows it, or cannot, has in it
    (r"gradient checkpointing", r"gradient_checkpointing['\"]?\s*[:= ]\s*['\"]?true"),
    (
        r"truncated importance sampling",
        r"importance_sampling_(?:ratio|correction['\"]?\s*[:= ]\s*['\"]?true)|"
        r"rollout_is\b(?!['\"]?\s*[:= ]\s*['\"]?(?:null|none|false))|"
        r"\btis_\w+|--use-tis\b",
    ),
    (r"entropy[_ ](?:coeff|bonus|term)", r"entropy_coeff['\"]?\s*[:= ]\s*0(?:\.0+)?(?![.\d])"),
    (
        r"is_trainable=True|(?<!send the )(?<!without an )\badapter\b(?! itself|'s)",
        r"trainable params:?\s*[1-9]|(?:train|finetuning)_type['\"]?\s*[:= ]\s*full|"
        r"Trainable \[100\.",
    ),
    (r"log grad_norm", r"^(?:actor/|train/)?grad_norm$"),
    (r"label under the last token", r"\(-100, ?\d+\)"),
    (r"save through the Trainer", r"\btrainer\.py\b.*\bSaving model checkpoint to\b"),
    (r"zero_to_fp32", r"save_strategy['\"]?\s*[:= ]\s*['\"]?no\b"),
)
_TRIED_BY = (  # and what a sentence says that was tried
    (
        r"(?:smaller|lower) learning rate|tenth of the learning rate",
        r"(?:smaller|lower\w*|reduc\w+|decreas\w+) (?:the )?(?:lr|learning[- ]rate)",
    ),
    (
        r"\b(?:sample|read|print) (?:\w+ )?(?:repl|completion|them)",
        r"\b(?:answers?|repl(?:y|ies)|outputs?|completions?|generat\w+)\b.{0,50}"
        r"\b(?:random tokens|gibberish|garbage|garbled|nonsense|rubbish)\b|"
        r"\b(?:i|we) (?:read|looked at|printed|sampled|checked)\b.{0,30}"
        r"\b(?:repl\w+|completions?|outputs?|samples?|answers?)\b",
    ),
    (r"larger coefficient", r"(?:larger|higher|stronger|increas\w+) (?:the )?kl"),
)
_SHOWN, _TRIED = (
    tuple((re.compile(advice), re.compile(shown, re.IGNORECASE)) for advice, shown in pairs)
    for pairs in (_SHOWN_BY, _TRIED_BY)
)
_GOES_BACK = re.compile(r"\bgo back to (?:the|a) checkpoint")
_SETTING = re.compile(r"\b(\w+_\w+)='?([\w.]+)'?")


def with_what_is_in_force(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding, which then leaves out what its log has already of its fix and next look."""
    printed = [line.text for line in beside.words if not is_prose(line.text)]
    printed += [
        name for entry in log.entries[-1:] + log.entries[:1] for name in entry.names.values()
    ]
    told = [line.text for line in beside.told()]
    nothing_before = one.at in log.entries[:1] and _is_first_step(one.at)
    done = (
        clause
        for clause in clauses(one.fix) + clauses(one.look)
        if _any(_that_show(clause), printed)
        or _any(_of(_TRIED, clause), told)
        or (nothing_before and _GOES_BACK.search(clause))
    )
    return replace(one, in_force=frozenset(done))


def _is_first_step(entry: Entry) -> bool:
    """Whether no update stands before an entry, so that no checkpoint is without its fault."""
    numbers = entry.numbers
    return numbers.get("learning_rate") == 0 or numbers.get("step", 2.0) <= 1


def _any(patterns: Iterator[re.Pattern], texts: list[str]) -> bool:
    return any(pattern.search(text) for pattern in patterns for text in texts)


def _of(table: tuple, clause: str) -> Iterator[re.Pattern]:
    return (shown for advice, shown in table if advice.search(clause))


def _that_show(clause: str) -> Iterator[re.Pattern]:
    yield from _of(_SHOWN, clause)
    for name, value in _SETTING.findall(clause):
        said = rf"\b{name}['\"]?\s*[:= ]\s*['\"]?{re.escape(value)}(?![.\w])"
        yield re.compile(said, re.IGNORECASE)
