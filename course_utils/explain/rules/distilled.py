"""A student that learns from a teacher: ids of another tokenizer, and a KL that is none:
`rule(log, beside)`."""

import math
import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, said, trend

_NAMED = re.compile(
    r"\b(?P<who>teacher|student)\w*(?:[._]\w+)*['\"]?\s*[:=]\s*\(?['\"]?(?:[\w$.-]+/)?"
    r"(?P<model>[A-Za-z][\w.-]*\d[\w.-]*)",
    re.IGNORECASE,
)
_FAMILIES = (  # one tokenizer each: its name, the models, the size of its vocabulary
    ("Qwen 3.5", r"qwen-?3\.[5-9]", 248_320),
    ("Qwen 2 and 3", r"qwen-?(?:1\.5|2(?:\.5)?|3)(?![.\d])", 151_936),
    ("Llama 3", r"llama-?3", 128_256),
    ("Llama 2", r"llama-?2|tinyllama|vicuna", 32_000),
    ("Mistral", r"mistral|mixtral", 32_768),
    ("Gemma 3", r"gemma-?3", 262_144),
    ("Gemma 2", r"gemma-?2", 256_000),
    ("gpt-oss", r"gpt-?oss", 201_088),
    ("SmolLM 2", r"smollm-?2", 49_152),
)
_COMPILED = tuple((name, re.compile(said, re.I), size) for name, said, size in _FAMILIES)
_ALIGNED = re.compile(
    r"\b(?:uld|ULD|GOLD|GOLDTrainer|GOLDConfig)\b|\b\w*uld_\w+|(?i:re-?tokeni[sz]\w*|"
    r"(?:cross|align)\w*[-_ ]+tokeni[sz]er\w*|token\w*[-_ ]align\w*|shared vocabulary)"
)
GUESSED, FLUENT, FAR = 0.6, -2.0, 6.0  # of ln(vocabulary); nats a token of the student's own; apart
OTHER_IDS = (
    "student ({}) and teacher ({}) have different tokenizers and get the same ids: an id is "
    "another piece of text to the teacher, so that it scores noise, and the student learns to "
    "write what is likely after noise"
)
ONE_TOKENIZER = (
    "a teacher with the student's tokenizer; or decode each reply and tokenize it anew for the "
    "teacher, with a loss that aligns the two (ULD, GOLD); compare both tokenizers' ids of one "
    "text before training, and do not clamp ids"
)
_TOP = re.compile(
    r"\b\w*(?:kl\w*top_?k|top_?k\w*kl)\w*|\bdistill\w*(?:\.\w+)*[._]top_?k\w*|"
    r"\btop-?k (?:reverse |forward )?kl\b|\bkl (?:over|on|of) (?:the )?top[-_ ]?k\b",
    re.IGNORECASE,
)
_A_KL = re.compile(
    r"\b(?:reverse|forward)[-_ ]?kl\w*|\b(?:rkl|kld|kl_div\w*)\b|\bdistill\w*[._/]\w*kl\b", re.I
)
_WHOLE = re.compile(
    r"\brenormali[sz]\w*|\btail_(?:mass|bucket|log\w*)|\bother_mass\b", re.IGNORECASE
)
_FORMULA = re.compile(r"\S+\.exp\(\) ?\* ?\(.{3,40}\)+\.sum\(")
_CUT_LOGITS = re.compile(
    r"\b(?P<who>teacher|student).*?logits?\w*(?:\.\w+\(\))*\s*\[\s*(?:\.\.\.|:)\s*,\s*"
    r"(?P<cut>:\s*-\s*1|1\s*:)\s*(?:,\s*:)?\s*\]",
    re.IGNORECASE,
)
ONE_PLACE_ON = (
    "the student is compared with the teacher at another place: of the one's logits the last are "
    "left out ([:, :-1]), of the other's the first ([:, 1:]), so that what the two say is of "
    "different tokens, one behind the other. The divergence falls, and the student unlearns to "
    "write the next token"
)
CUT_BOTH_ALIKE = (
    "cut both in one way ([:, :-1] for the logits of either, [:, 1:] for the labels alone); the "
    "first divergence of a good teacher with the same tokenizer is then small, and the loss on the "
    "labels falls with it. Begin again from the student as it was"
)
FEW, BELOW = 6, -0.05
OF_A_PART = "{} falls below 0, which no KL does, and stays there: it is {}"
SUMMED = (
    "summed over the top-k tokens alone, which are no distribution, and falls furthest where the "
    "student moves its probability out of them, so that it becomes random"
)

NOT_WHOLE = (
    "no KL of two whole distributions: a sum over a part of the vocabulary, probabilities that are "
    "not normalised, or a mean over tokens that the student has not sampled"
)


def teacher_reads_other_ids(log: Log, beside: Beside) -> Finding | None:
    """Two families of models, and a teacher that finds fluent text about as likely as any."""
    student, teacher = _family(beside, "student"), _family(beside, "teacher")
    if not student or not teacher or student[1][0] == teacher[1][0] or beside.matching(_ALIGNED):
        return None
    uniform = math.log(teacher[1][1])
    names = [n for n in ("teacher_logp", "divergence") if log.values(n)]
    entry = next((e for e in log.entries if names and names[0] in e.numbers), None)
    if entry is None or abs(entry.numbers[names[0]]) < GUESSED * uniform:
        return None
    own = entry.numbers.get("student_logp", 0.0)
    if own < FLUENT:
        return None
    shown = [n for n in ("student_logp", "teacher_logp", "divergence") if n in entry.numbers]
    proof = [f"{line.where} says: {line.text.strip()[:100]}" for line, _ in (student, teacher)]
    proof.append(
        f"{said(entry, *shown)} at {entry.where}; a guess among the {teacher[1][1]} tokens of "
        f"{teacher[1][0]} has {-uniform:.2f}"
    )
    why = OTHER_IDS.format(student[1][0], teacher[1][0])
    return Finding("other_tokenizer", 8.5, entry, tuple(proof), why=why, advice=ONE_TOKENIZER)


def _family(beside: Beside, who: str) -> tuple[Line, tuple[str, int]] | None:
    """The first line that names such a model, and the name and size of its vocabulary."""
    for line in beside.words:
        for found in _NAMED.finditer(line.text):
            known = ((n, size) for n, models, size in _COMPILED if models.search(found["model"]))
            if found["who"].lower() == who and (one := next(known, None)):
                return line, one
    return None


def teacher_one_place_on(log: Log, beside: Beside) -> Finding | None:
    """Code that cuts the logits of student and teacher at different ends."""
    cuts: dict[str, tuple[Line, str]] = {}
    for line in beside.words:
        if (found := _CUT_LOGITS.search(line.text)) and not is_prose(line.text):
            of_first = "1:" in found["cut"].replace(" ", "").removesuffix("-1")
            cuts.setdefault(found["who"].lower(), (line, "first" if of_first else "last"))
    if len(cuts) < 2 or len({end for _, end in cuts.values()}) == 1:
        return None
    proof = tuple(f"{line.where} says: {line.text.strip()}" for line, _ in cuts.values())
    at = cuts["teacher"][0]
    return Finding("teacher_one_place_on", 9.2, at, proof, why=ONE_PLACE_ON, advice=CUT_BOTH_ALIKE)


def kl_below_0(log: Log, beside: Beside) -> Finding | None:
    """A divergence, over the top-k tokens perhaps, that falls through 0 and stays below it."""
    series, top = log.series("divergence"), _printed(beside, _TOP)
    named = top or _printed(beside, _A_KL)
    is_named = named or any("kl" in entry.names["divergence"].lower() for entry, _ in series)
    values = [value for _, value in series if math.isfinite(value)]
    if not is_named or len(values) < FEW or len(values) < len(series) or values[0] <= 0:
        return None
    if beside.matching(_WHOLE) or max(values[-(len(values) // 3) :]) > BELOW:
        return None
    turned = next(entry for entry, value in series if value < 0)
    last = series[-1][0]
    proof = [
        f"{said(series[0][0], 'divergence')} at {series[0][0].where}, "
        f"{said(turned, 'divergence')} at {turned.where}, {said(last, 'divergence')} at "
        f"{last.where}",
    ]
    proof += [f"{named[0].where} says: {named[1]}"] if named else []
    if formula := beside.matching(_FORMULA):
        proof.append(f"{formula[0].where} says: {formula[0].text.strip()[:100]}")
    for name, what in (("student_mass", "the student's part of it"), ("entropy", "the entropy")):
        if levels := trend(log.values(name)):
            proof.append(f"{what}: {listed(levels)} by thirds of the log")
    name = turned.names["divergence"]
    why = OF_A_PART.format(name, SUMMED if top else NOT_WHOLE)
    return Finding("kl_of_a_part", 8.5 if top else 7.0, turned, tuple(proof), why=why)


def _printed(beside: Beside, pattern: re.Pattern) -> tuple[Line, str] | None:
    """The first match in what a program has printed or a file says, or else in a sentence."""
    found = beside.all_matching(pattern)
    return next((one for one in found if not is_prose(one[0].text)), found[0] if found else None)


RULES_OF_SETTINGS = (teacher_reads_other_ids, teacher_one_place_on, kl_below_0)
