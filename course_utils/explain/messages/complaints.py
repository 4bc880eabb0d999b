"""Finds causes in what people write beside a log that looks healthy: "it never stops".

Only words before the first entry or behind the last are taken for the writer's own: between two
entries stand replies of the model. They are hints, and used where the log itself shows nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course_utils.causes import CAUSES
from course_utils.causes.harms import TRAINING
from course_utils.explain.finding import LOOK, Finding
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.sentences import is_printed

MAX_LINES = 400
FEW, ENDS = 3, 0.1  # entries; share of replies that are cut at the limit
OF_PARTS = "parts_apart"  # a cause of two parts of a reward
UNSEEN = "no number that a rule reads shows it"
_NOT = r"(?:not?|never|n't|n\u2019t|without|isn.t|cannot|won.t)"
_WORSE = (
    r"(?:worse\w*|different|differs?|gibberish|garbage|forg[eo]t\w*|nonsense|bad|wrong|broken|"
    r"ruin\w*|degrad\w*|loss of (?:accuracy|quality)|not (?:stick|follow|match))"
)
_WRITES = r"(?:generat|predict|produc|emit|output|learn)\w*"
_ON = r"(?:[^.?!]|[.](?=\S)){0,60}"  # of the same sentence
_SERVED = r"(?:serv|inference|vllm|ollama|gguf|export|deploy)"
# What is said, by the name that causes give to it.
_COMPLAINTS = {
    "never stops": (
        rf"{_NOT} (?!full )(?:\w+ )?stop\w*\b(?! the)|"
        r"(?:until|till|up to|reach\w*) (?:the )?max[_ ]?"
        r"(?:new[_ ]?)?(?:tokens?|length)|keeps? (?:on )?generating|"
        r"generat\w+ (?:endless|infinite|forever)\w*|"
        rf"eos\w*.{{0,30}}{_NOT} (?:\w+ )?{_WRITES}|over-?generat\w+|continuously generat\w+|"
        rf"(?:{_NOT}|no longer) (?:\w+ )?{_WRITES} (?:an? |the |any )?"
        r"(?:\W{0,3}eos|end[- ]of|</s>)|"
        r"\u505c\u4e0d\u4e0b\u6765|\u4e00\u76f4\u751f\u6210|\u65e0\u6cd5\u505c\u6b62"
    ),
    "worse once merged": rf"merg\w+.{{0,110}}{_WORSE}|{_WORSE}.{{0,40}} (?:after|when|once) merg",
    "as the base model": (
        r"(?:same|identical)\b.{0,25}(?:as|to|with) (?:the )?(?:base|original|untrained)|"
        r"(?:lora|adapter|fine-?tun\w+).{0,30}(?:no effect|not applied|ignored|has no|"
        r"nothing(?! (?:fancy|special|else|unusual|exotic|strange|out of)))"
    ),
    "new tokens unseen": (
        rf"(?:new|added|special) tokens?.{{0,60}}{_NOT}.{{0,20}}"
        r"(?:generat|predict|produc|learn|appear|output|said)"
    ),
    "differs in a batch": (
        rf"(?:batch\w*|padd\w+).{{0,60}}(?:{_WORSE}|not the same|inconsisten).{{0,60}}"
        r"(?:single|alone|one by one|one at a time|individual|without)"
    ),
    "jumps on resuming": (
        r"resum\w+.{0,90}(?:jump|higher|increas|reset|from scratch|begins? again|restart)|"
        r"(?:jump|spik|higher|increas|reset)\w*.{0,50}resum"
    ),
    "changes with accumulation": (
        r"(?:times|larger|higher).{0,60}accumulation|"
        r"(?:accumulation|batch size).{0,80}(?:times|larger|higher|worse|scales?|differs?)"
    ),
    "worse packed": rf"packing.{{0,60}}(?:higher|{_WORSE}|contaminat)",
    "reward up, quality down": (
        r"reward.{0,40}(?:increas|ris|go(?:es)? up|improv|climb|1\.0).{0,90}"
        r"(?:accuracy|eval\w*|benchmark|output\w*|quality|performance|repl\w+).{0,40}"
        r"(?:drop|decreas|fall|worse|degrad|empty|gibberish)"
    ),
    "two start tokens": r"(?:double|two|duplicated?) (?:bos|<s>|start tokens?|<\|begin)",
    "stale sampler": (
        rf"(?:vllm|sglang|engine|rollout\w*|sampler){_ON}(?:weights?|lora|adapter){_ON}"
        r"(?:not (?:\w+ )?(?:updat|sync)|stale|\bold\b|never (?!skip|miss|fail|late|dropp))"
    ),
    "gibberish when served": (
        r"(?:gibberish|garbage|nonsense|garbled|\u4e71\u7801).{0,60}"
        rf"{_SERVED}|{_SERVED}\w*.{{0,60}}(?:gibberish|garbage|\u4e71\u7801)"
    ),
}


def _that_fit(name: str) -> tuple[str, ...]:
    """The causes that fit a complaint, the commonest first."""
    places = {key: dict(cause.complaints).get(name) for key, cause in CAUSES.items()}
    return tuple(sorted((key for key in places if places[key]), key=places.get))


COMPLAINTS = tuple(
    (re.compile(said, re.IGNORECASE), _that_fit(name)) for name, said in _COMPLAINTS.items()
)
_UNENDING = _that_fit("never stops")


def _replies_end(log: Log) -> bool:
    """Whether next to no reply of a policy is cut at the limit, in any entry."""
    cut = finite(log.values("truncated_share"))
    return len(cut) >= FEW and max(cut) < ENDS


def _is_one_reward(log: Log) -> bool:
    """Whether the log shows a reward, and no two parts of one that could move apart."""
    parts = [name for name in log.fields if name.startswith("part:")]
    return len(log.values("reward")) >= FEW and len(parts) < 2


@dataclass
class Complaints:
    """The complaints heard so far, with the number of entries that stood before each."""

    _heard: list[tuple[int, Line, str, tuple[str, ...]]] = field(default_factory=list)
    _num_lines: int = 0
    _num_entries: int = 0
    _numbers_at: str = ""  # the line of the last entry: what else stands in it is no complaint

    def hear(self, part: Entry | Line) -> None:
        if isinstance(part, Entry):
            self._num_entries += 1
            self._numbers_at = part.where
            return
        self._num_lines += 1
        if self._num_lines > MAX_LINES or part.where == self._numbers_at:
            return
        if is_printed(part.text):
            return
        for pattern, keys in COMPLAINTS:
            if found := pattern.search(part.text):
                self._heard.append((self._num_entries, part, found[0], keys))
                return

    def findings(self, log: Log) -> Iterator[Finding]:
        """Causes that fit what is complained of, each no more than a hint.

        Where the replies of the training end, it has not unlearnt that: only who serves is left.
        """
        if self._num_lines > MAX_LINES:
            return
        for before, line, words, keys in self._heard:
            if before in (0, self._num_entries):
                for place, key in enumerate(keys):
                    if CAUSES[key].where == TRAINING and keys == _UNENDING and _replies_end(log):
                        continue
                    if key == OF_PARTS and _is_one_reward(log):
                        continue
                    said = f"{line.where} says: {words}"
                    yield Finding(key, LOOK - place / 10, line, (said,), (UNSEEN,))
