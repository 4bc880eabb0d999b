"""What sentences without a log speak of, and what to bring so that the cause can be told."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line

MAX_SAID, MAX_MENTIONS = 100, 3
_TOPICS = (  # what is spoken of, and what would decide
    (
        r"\b(?:out of memory|oom)\b|\u7206\u663e\u5b58|\u663e\u5b58\u4e0d\u8db3",
        "the whole message (what it asked for, what was free), the lengths of the batch in tokens, "
        "and the size of the vocabulary",
    ),
    (
        r"\bnan\b|\binf\b|not finite|!{8,}",
        "the entries around the first one that is not finite, with loss, grad_norm and learning_"
        "rate, and the number format of weights and computation (float16, bfloat16)",
    ),
    (
        r"\bOVERFLOW!|loss[_ ]scale",
        "the lines with the loss scale from the first to the last, and the losses between them",
    ),
    (
        r"\b(?:size|shape)s? mismatch|\bshapes? of\b",
        "the message with both shapes, the lengths of tokenizer and embedding",
    ),
    (
        r"\b(?:gibberish|garbage|nonsense|rubbish|hallucinat\w*|bad (?:results?|outputs?|answers?)|"
        r"worse (?:results?|outputs?|answers?)|generat\w+ (?:infinite|endless)\w*|infinite\w*|"
        r"endless\w*|never stops?|confused)\b|\u4e71\u7801",
        "one prompt as the token ids that training saw and those that the server gets, the "
        "template of both, and the reply of the same weights in Transformers",
    ),
    (
        r"\bresum\w+|\bfrom (?:a |the )?checkpoint\b",
        "the last ten entries before the checkpoint and the first ten after it, with learning_rate "
        "and step, and the files of the checkpoint",
    ),
    (
        r"\bmerg\w+|\b(?:lora|adapter)\b.{0,40}\b(?:load|effect|differ)\w*",
        "the replies of the unmerged and of the merged model to the same prompts in one number "
        "format, and the format of the base that it was merged into (4 bits or not)",
    ),
    (
        r"\b(?:importance|sampling)[-_ ]\w*|\blog-?probs?\b|\bIS ratio\b",
        "entries with the ratio or the difference of sampler and trainer, and how replies are "
        "sampled (temperature, top_p, top_k)",
    ),
    (
        r"\brewards?\b|\badvantages?\b|\bkl\b|\bentropy\b",
        "some entries of the log with reward, reward_std, kl, entropy and length, and a few "
        "replies to one prompt with their rewards",
    ),
    (
        r"\bloss(?:es)?\b|\bgrad(?:ient)?[_ ]?norms?\b|\baccuracy\b|\bperplexity\b",
        "the entries of the log as they were printed (loss, grad_norm, learning_rate, eval_loss), "
        "at least ten, and the settings of the run",
    ),
    (
        r"\b(?:\w*Error|Exception|Traceback|error|errors|fails?|failed|crash\w*)\b|\u62a5\u9519",
        "the traceback from its first line to its last, and what was printed before it",
    ),
    (
        r"\bclip(?:ped)?_?ratio\b|\b(?:SFT|DPO|PPO|GRPO|KTO|ORPO|RLHF)\b|"
        r"\b(?:pre-?|fine-?)?(?:train|tun)(?:ed|ing|s)?\b|over-?generat\w*",
        "the entries of the log as they were printed, and what you expected instead",
    ),
    (
        r"\b(?:slow|slower|slowly)\b|\btokens/s\b|\butili[sz]ation\b",
        "the seconds of a step by part (sampling, scoring, training, reading data), and the load "
        "of each GPU",
    ),
)
_OF_CODE = re.compile(
    r"^(?:self\.|def |class |return\b|(?:el)?if .*:$|(?:for|while|with) .*:$|import |@\w|"
    r"from \S+ import )|^[\w., ]+ \+?= .*[(\[{'\"]|\w \+= "
)
_HEAD = re.compile(r"Traceback \(most recent")
_END = re.compile(r"(?:^|: )[\w.]+(?:Error|Exception)\b")
_THE_LOG = re.compile(r"^(?:some|the) entries of the log")
_COMPILED = tuple((re.compile(said, re.IGNORECASE | re.ASCII), bring) for said, bring in _TOPICS)


@dataclass(frozen=True)
class Mention:
    """A line that speaks of a run, and what would tell the cause."""

    line: Line
    said: str
    bring: str

    @property
    def of_entries(self) -> bool:
        """Whether what it asks for is the log itself."""
        return bool(_THE_LOG.search(self.bring))


def mentions(beside: Beside) -> Iterator[Mention]:
    """The topics that lines without numbers speak of, the one that says most first."""
    taken: set[str] = set()
    words = [line for line in beside.words if not _OF_CODE.search(line.text)]
    for pattern, bring in _COMPILED:
        line = next((one for one in words if pattern.search(one.text)), None)
        if line is not None and bring.startswith("the traceback") and _is_whole(words):
            continue
        if line is not None and line.where not in taken and len(taken) < MAX_MENTIONS:
            taken.add(line.where)
            yield Mention(line, _around(line.text, pattern), bring)


def _is_whole(lines: list[Line]) -> bool:
    """Whether a traceback is there from its head to its error."""
    heads = [n for n, line in enumerate(lines) if _HEAD.search(line.text)]
    return bool(heads) and any(_END.search(line.text) for line in lines[heads[0] :])


def _around(text: str, pattern: re.Pattern) -> str:
    """The words around what was found."""
    found = pattern.search(text)
    start = max(0, found.start() - MAX_SAID // 2) if found else 0
    return text[start : start + MAX_SAID].strip()
