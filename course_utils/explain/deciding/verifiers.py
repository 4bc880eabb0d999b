"""A reward that is one constant: answers, of the rows or of the replies, that its verifier cannot
read."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.final_answers import form_of, plain
from course_utils.explain.paste.log import Log

_LATEX = re.compile(r"\bLatexExtractionConfig\b")
_PLAIN = re.compile(r"\b(?:Expr|String)ExtractionConfig\b")
_GOLD = re.compile(r"\b(?:solutions?|answers?|gold\w*|ground_truth|targets?)\b", re.IGNORECASE)
_BARE = re.compile(r"(?<=[\s(\[:=,])(['\"])-?\d[\d./,]{0,20}\1(?=[\s)\],}]|$)")
_DEFAULT = re.compile(
    r"\b(?:\w*rewards?|score|return)\b\W{0,3}(?:append\()?(-?\d+(?:\.\d+)?)\)?\s*$"
)
_TRUTH = re.compile(
    r"\b(?:ground[_ ]?truth|gold\w*|solution|target|expected|reference)\b\W{1,4}"
    r"(?P<value>-?\d[\d.,/]*)\W*$",
    re.IGNORECASE,
)
_EARNS = re.compile(r"\b(?:score|reward)\b\W{1,4}(?P<value>-?\d+(?:\.\d+)?)\W*$", re.IGNORECASE)
_READS = re.compile(  # code that takes answers from replies, or a data set whose scorer is known
    r"\bre\.(?:findall|search|match|compile)\(\s*[rf]?(?P<form>['\"].{2,60}?['\"]),\s*"
    r"(?:\w*(?:solution_str|response|completion|reply|pred|output|text|content|answer_str)\w*)\b|"
    r"data_source['\"]?\s*[:=]\s*['\"](?P<source>openai/gsm8k)['\"]",
    re.IGNORECASE,
)
RIGHT_AND_UNPAID = (
    "right answers earn nothing, so that all replies have one reward: a reply that is shown gives "
    "{value} as {form}, the right answer is {value}, and it is scored {score}. What scores it "
    "does not take that form{reads}; no rate and no optimizer is at fault"
)
OF_GSM8K = " (verl's own scorer of openai/gsm8k takes a number behind #### alone)"
ONE_FORM = (
    "one form for both: ask in the prompt for what the scorer reads, or score with a function that "
    "reads {} (a math verifier, a custom reward function, another data_source); then score the "
    "replies of the first evaluation again, of which the right ones must be paid"
)
_IN_ONE_LINE = re.compile(
    r"\b(?:gold\w*|(?:ground[_ ]?)?truth|target|expected|solution|answer)\b\W{1,4}"
    r"(?P<value>-?\d[\d.,/]*)\W(?P<reply>.*)",
    re.IGNORECASE,
)
_AS_TEXT = re.compile(r"\bstr\(\s*(?:c|comp\w*|msgs?|messages?|repl\w*|resp\w*)(?:\[\w+\])?\s*\)")
_MESSAGES = re.compile(r"\[\{['\"](?:role|content)['\"]:")
LIST_PRINTED = (
    ": it scores str() of a reply, and a reply is a list of messages here ([{'role': ...}]), so "
    "that a pattern meets the printed list with its brackets and \\n, and not the text"
)
THE_TEXT = (
    "score the text, completion[0]['content'] where prompts are messages; call the function by "
    "hand on one right reply as the trainer gives it, which must be paid"
)
BEHIND, BEFORE = 4, 16  # lines of a score behind the right answer; of a reply before it
NEAR = 2  # lines below the one that names them
NO_LATEX = (
    "the gold answers are bare text ({}), and the verifier looks for LaTeX alone: none of them is "
    "parsed, and every reply gets the constant of that branch, right or wrong"
)
PARSE_THEM = (
    "write the gold answers as LaTeX ($...$ or \\boxed{...}), or parse them with "
    "ExprExtractionConfig() beside LatexExtractionConfig(); return None where a gold answer cannot "
    "be parsed, and not a number; see that parse() of ten of them is not empty"
)


def unparsed(one: Finding, beside: Beside, log: Log) -> Finding:
    """What the log shows of the verifier, where it takes LaTeX alone and the answers are bare."""
    latex, bare = beside.matching(_LATEX), _bare(beside)
    if latex is None or bare is None or beside.matching(_PLAIN):
        return one
    told = [f"{latex[0].where} says: {latex[0].text.strip()[:110]}"]
    told.append(f"{bare[0].where} says: {bare[0].text.strip()[:60]}")
    if default := _default(one, beside, log):
        told.append(f"{default.where} says: {default.text.strip()}")
    why = NO_LATEX.format(bare[1])
    return replace(one, weight=8.0, for_it=(*one.for_it, *told), why=why, advice=PARSE_THEM)


def _bare(beside: Beside) -> tuple[Line, str] | None:
    """An answer without marks of LaTeX, in a line that names answers or just below it."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not _GOLD.search(line.text):
            continue
        for near in lines[number : number + NEAR]:
            if found := _BARE.search(near.text):
                return near, found[0]
    return None


def _default(one: Finding, beside: Beside, log: Log) -> Line | Entry | None:
    """The line of code that gives the number which the reward has in every entry."""
    parts = one.at.numbers.items() if isinstance(one.at, Entry) else ()
    values = {value for name, value in parts if name.startswith("part:")}
    for line in (*(line for line in beside.words), *log.entries):
        found = _DEFAULT.search(line.text)
        if found and float(found[1]) in values and float(found[1]) % 1:
            return line
    return None


def unpaid(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with a reply that is shown with the right answer and a score of 0 or less."""
    lines = sorted((*(line for line in beside.words), *log.entries), key=place)
    for number, line in enumerate(lines):
        if not (truth := _TRUTH.search(line.text)):
            continue
        scored = next(
            (
                (low, m)
                for low in lines[number + 1 : number + BEHIND]
                if (m := _EARNS.search(low.text))
            ),
            None,
        )
        if scored is None or float(scored[1]["value"]) > 0:
            continue
        reply = _answers(lines[max(0, number - BEFORE) : number], truth["value"])
        if reply is None:
            continue
        at, form = reply
        reads = beside.matching(_READS)
        read_as = _READS.search(reads[1]) if reads else None
        if read_as and form.strip("\\.<{ ")[:4] in (read_as["form"] or ""):
            continue  # it looks for this very form
        is_known = read_as and read_as["source"]
        value, score = plain(truth["value"]), scored[1]["value"]
        why = RIGHT_AND_UNPAID.format(
            value=value, form=form, score=score, reads=OF_GSM8K if is_known else ""
        )
        told = [f"{at.where} says: {at.text.strip()[-60:]}", f"{line.where} says: {truth[0]}"]
        told.append(f"{scored[0].where} says: {scored[1][0]}")
        told += [f"{reads[0].where} says: {reads[1].strip()[:100]}"] if reads else []
        proof = (*one.for_it, *told)
        return replace(one, weight=8.8, for_it=proof, why=why, advice=ONE_FORM.format(form))
    return _in_one_line(one, lines, log, beside)


def _in_one_line(one: Finding, lines: list, log: Log, beside: Beside) -> Finding:
    """A line with the right answer and a reply that gives it, where all rewards are 0."""
    rewards = log.values("reward")
    for line in lines if rewards and not any(rewards) else ():
        found = _IN_ONE_LINE.search(line.text)
        form = found and form_of(found["reply"], found["value"])
        if not form:
            continue
        as_text = beside.matching(_AS_TEXT) if _MESSAGES.search(line.text) else None
        value, reads = plain(found["value"]), LIST_PRINTED if as_text else ""
        why = RIGHT_AND_UNPAID.format(value=value, form=form, score="0", reads=reads)
        proof = (*one.for_it, line.says, *([as_text[0].says] if as_text else []))
        advice = THE_TEXT if as_text else ONE_FORM.format(form)
        return replace(one, weight=8.8, for_it=proof, why=why, advice=advice)
    return one


def _answers(lines: list[Line | Entry], truth: str) -> tuple[Line | Entry, str] | None:
    """The last of these lines that gives the right answer in one of the usual forms."""
    for line in reversed(lines):
        if form := form_of(line.text, truth):
            return line, form
    return None
