"""Code that hands a model other tokens than it should have, whatever the numbers say: which
positions it compares, what it samples from, where it cuts."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import plain_number
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.sampled_at import sampled_at
from course_utils.explain.stated.calls.given import SHOWN

_CODE = re.compile(r"generate\(|softmax|cross_?entropy|CrossEntropy|chat_template|truncat", re.I)
CAUSAL = re.compile(r"ForCausalLM|LMHeadModel|FastLanguageModel|causal_?lm", re.IGNORECASE)
TWO_PARTS = re.compile(  # no model that says the next token
    r"seq2seq|\bt5\b|flan|\bbart\b|whisper|encoder_decoder|MaskedLM|mlm=True|\w*bert|"
    r"TokenClassification|ConditionalGeneration",
    re.IGNORECASE,
)
_SCORES_REPLIES = re.compile(rf"{CAUSAL.pattern}|\bDPO|label_pad_token_id", re.IGNORECASE)
_MOVES = re.compile(
    r"\+\s*1\s*:|[\[,]\s*1\s*:|:\s*-\s*\w|\w\s*-\s*1\s*[:\],]|shift|\broll\(|next_tok|narrow\(|"
    r"\[:, -1|diffusion|\barange\(",
    re.I,
)
_LOSSES = ("cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss", "selective_log_softmax")
_IDS = re.compile(r"(?:^|_)(?:input_ids|ids|tokens?|sequences?|seqs?)$|^labels?$")
_POLICY = re.compile(r"\bratio|advantage|\badv\b|old_log|log_?ratio|policy_loss|reinforce", re.I)
_DIVIDED = re.compile(
    r"/\s*(?:\w+\.)*(?:temp\w*|tau|T)\b|\.div_?\(|logits\w*(?:\[[^\]]*\])?\s*/|processed_log|"
    r"temperature_scal|LogitsWarper|TopPLogits|TopKLogits",
    re.IGNORECASE,
)
_SCORES = re.compile("log_softmax|logsumexp|Categorical")
_SAMPLES = re.compile("Sampling|generate|GenerationC|create")
_OF_EVALUATION = re.compile(r"eval|valid|\bval|test|infer|judge|serv", re.IGNORECASE)
_CUTS = re.compile(
    r"truncation_mode\W+keep_start|truncation['\"]?\s*[=:]\s*['\"]?(?:True|longest_first|only_first)",
    re.IGNORECASE,
)
_CUTS_LEFT = re.compile(r"truncation_side|keep_end|truncat\w+ (?:from )?(?:the )?left", re.I)
_LONG = re.compile(
    r"\b(?:prompts?|contexts?|documents?|articles?|passages?|transcripts?|histor(?:y|ies))\b"
    r"[^.\n]{0,60}?(?<![\w.])(?P<n>\d[\d,]*(?:\.\d+)?)(?P<k>k?)[ -]tokens?\b",
    re.IGNORECASE,
)
_AT_MOST = re.compile(r"most|below|under|less|shorter|max|up to|longest|few|eval|test|<", re.I)
_PAIRS = re.compile(r"\bchosen\b|DPO|\bKTO\b|RewardTrainer", re.IGNORECASE)
_MASKS = re.compile(
    r"-100\b|CompletionOnlyLM|completion_only|assistant_only|on_responses_only|train_on_inputs\W+f",
    re.I,
)
_REPLIES = re.compile(r"repl(?:y|ies)|response|completion|answer|summar|SFT|CausalLM|labels", re.I)
_CLASSES = re.compile(r"SequenceClassification|Seq2Seq|SentenceTransformer|embedding", re.I)
LEARNT = 0.6  # of an accuracy of pairs
SELF = (
    "the logits at a place are compared with {ids} at that very place, where they stand for the "
    "token behind it: each token is scored (and learnt) from itself"
)
MOVE = (
    "logits[:, :-1] beside {ids}[:, 1:], and the mask moved with them; the model's own loss "
    "(labels=...) moves them itself"
)
UNDIVIDED = (
    "replies are sampled at {how}, and the trainer takes the log_softmax of the logits as they "
    "are: its log-probs are those of another distribution than the one that was sampled from, so "
    "that every ratio is off"
)
DIVIDE = "log_softmax(logits / temperature) in the trainer, or sample at temperature 1, top_p 1"
CUT = "rows are cut from the right at {limit} tokens, and prompts have {tokens} of them: {left}"
BOTH_GONE = "both replies of such a pair are gone, and what is compared is one and the same prompt"
GONE = "the reply, which stands behind its prompt, is gone, and there is nothing to learn"
KEEP = (
    "a max_length above prompt and reply together, or truncation_side='left' for the prompt with "
    "room for the reply; drop rows that keep no token of it, and count them"
)


def wrong_tokens(beside: Beside, log: Log) -> Iterator[Finding]:
    """What each of these rules finds in the code."""
    if not beside.matching(_CODE):
        return
    yield from _same_place(beside, log)
    yield from _undivided(beside)
    yield from _cut_from_the_right(beside, log)


def _same_place(beside: Beside, log: Log) -> Iterator[Finding]:
    """Log-probs or a loss that take the logits at a place for the token at that very place."""
    for pattern in (_MOVES, TWO_PARTS):
        if beside.matching(pattern):
            return
    losses = finite(log.values("loss"))
    if not beside.matching(_SCORES_REPLIES) or (
        log.kind() == "supervised" and losses[5:] and losses[-1] > 1
    ):
        return  # the token that it reads would soon be said with certainty
    for line, statement in statements(beside):
        for call in calls(statement):
            if not (ids := _looked_up(call)):
                continue
            why, advice = SELF.format(ids=ids), MOVE.format(ids=ids)
            yield Finding("loss_not_shifted", SHOWN, line, (line.says,), why=why, advice=advice)
            return


def _looked_up(call: ast.Call) -> str:
    """The ids that a call looks up in logits, or compares them with; "" if it does not."""
    name, inner = name_of(call.func), name_of(getattr(call.func, "func", None))
    given = [*call.args, *(one.value for one in call.keywords)]
    if name == "gather" and isinstance(call.func, ast.Attribute):
        given = given if name_of(call.func.value) == "torch" else [call.func.value, *given]
    elif name not in _LOSSES and inner not in _LOSSES and not re.search("loss_f|criterion", name):
        return ""
    of, text = ast.unparse(given[0]) if given else "", ast.unparse(call)
    if not re.search(r"logit|log_?p|log_?soft|lp\b", of, re.IGNORECASE):
        return ""
    if name in _LOSSES and not re.search("view|reshape|flatten|transpose|permute|selective", text):
        return ""  # one class for each row
    names = (name_of(node) or _key(node) for one in given[1:] for node in ast.walk(one))
    return next((one for one in names if _IDS.search(one)), "")


def _key(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _undivided(beside: Beside) -> Iterator[Finding]:
    """A sampler with a temperature or top_p, and a policy's log_softmax of the bare logits."""
    if not beside.matching(_POLICY) or beside.matching(_DIVIDED):
        return
    drawn, scored, held, within = None, None, _of_settings(beside), ""
    for line, statement in statements(beside):
        within = statement.name if isinstance(statement, ast.FunctionDef) else within
        held |= {name_of(a).lower(): b for a, b in bound(statement) if isinstance(b, ast.Constant)}
        how = "" if _OF_EVALUATION.search(f"{within} {line.text}") else _sampled(statement, held)
        drawn = drawn or ((line, how) if how else None)
        if any(_SCORES.search(name_of(one.func)) for one in calls(statement)):
            scored = scored or line
    if drawn and scored:
        proof = (drawn[0].says, scored.says)
        why = UNDIVIDED.format(how=drawn[1])
        yield Finding("logp_disagree", SHOWN, drawn[0], proof, why=why, advice=DIVIDE)


def _of_settings(beside: Beside) -> dict[str, ast.expr]:
    """The temperature that a file of settings gives, for code that reads it there."""
    one = sampled_at(beside)
    return {"temperature": ast.Constant(one.number)} if one is not None else {}


def _sampled(statement: ast.stmt, held: dict[str, ast.expr]) -> str:
    """The temperature or top_p other than 1 that a sampler is told, as arguments or in a dict."""
    pairs: list[tuple[str, ast.expr]] = []
    for one in ast.walk(statement):
        if isinstance(one, ast.Call) and _SAMPLES.search(name_of(one.func)):
            pairs += [(key.arg or "", key.value) for key in one.keywords]
        if isinstance(one, ast.Dict):
            found = [(_key(k), v) for k, v in zip(one.keys, one.values, strict=True) if k]
            pairs += found if {"max_new_tokens", "max_tokens", "n"} & {k for k, _ in found} else []
    for name, given in pairs:
        value = held.get(name_of(given).lower(), given)
        number = value.value if isinstance(value, ast.Constant) else None
        is_other = isinstance(number, int | float) and number > 0 and number != 1
        if name in ("temperature", "top_p") and is_other:
            return f"{name} {number}"
    return ""


def _cut_from_the_right(beside: Beside, log: Log) -> Iterator[Finding]:
    """A limit below the tokens that the prompts are said to have, in rows that end with a reply."""
    limit, cuts = beside.printed("max_length"), beside.first(_CUTS)
    if limit is None or not limit.number or not cuts or beside.matching(_CUTS_LEFT):
        return
    pairs, masks = beside.matching(_PAIRS), beside.matching(_MASKS)
    has_replies = beside.matching(_REPLIES) and not beside.matching(_CLASSES)
    if not (pairs or has_replies) or max(finite(log.values("accuracy")), default=0) > LEARNT:
        return
    for line in beside.words:
        found = _LONG.search(line.text)
        tokens = plain_number(found["n"]) * (1000 if found["k"] else 1) if found else 0
        if not found or tokens < limit.number or _AT_MOST.search(found[0]):
            continue
        is_masked = masks and not any(finite(log.values("loss")))
        key = "pairs_alike" if pairs else "labels_masked" if is_masked else "too_long"
        said = f"{found['n']}{found['k']}"
        why = CUT.format(limit=limit.value, tokens=said, left=BOTH_GONE if pairs else GONE)
        proof = tuple(dict.fromkeys((limit.said, cuts[0].says, line.says)))
        yield Finding(key, SHOWN, line, proof, why=why, advice=KEEP)
        return
