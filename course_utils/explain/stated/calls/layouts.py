"""Code that lays out what a model reads in two ways: rows in a template and prompts without, whole
chats behind which another turn is opened, prompts with their padding where the reply begins."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls, name_of, statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.asked import Asked, asked
from course_utils.explain.stated.calls.given import SHOWN
from course_utils.explain.stated.calls.tokens import CAUSAL, TWO_PARTS

FEWEST = 8  # letters of a prompt
_TRAINS = re.compile(r"Trainer\(|\.backward\(", re.IGNORECASE)
_LAID_OUT = re.compile(
    r"template|format|<\||\[INST|###|start_of_turn|</?s>|messages|role|(?:Human|User|Question|Q|Input|"
    r"Instruction|Assistant|Answer|A)\s*:",
    re.IGNORECASE,
)
_MARKS = re.compile(r"apply_chat_template\(|<\|im_start\|>|\[INST\]|<start_of_turn>|### ?\w+")
_OF_ROW = re.compile(
    r"\b(?:row|ex|example|examples|sample|item|x|r|d|batch|messages|convos?|conv)\b"
)
_HANDS_ON = re.compile(  # calls that leave a text what it is
    r".*tok\w*|.*processor|to|cuda|encode|tensor|unsqueeze|from_pretrained|generate|LLM|"
    r"SamplingParams|len|list|pipe\w*|\w*generator|decode|batch_decode|eval|half|load|print"
)
_COLUMN = re.compile(r"question|instruction|query|problem")
_LEARNS_ALL = re.compile(r"SFTTrainer\(|\blabels['\"]?\]?\s*[=:]")
_OTHER_SIDE = re.compile(
    r"padding_side(?!['\"]?\s*[=:]+\s*['\"]?right)|left[_-]?pad|pad\w*left", re.I
)
_RIGHT = re.compile(r"padding_side['\"]?\s*[=:]\s*['\"]?right", re.IGNORECASE)
_PADS_LEFT = re.compile(  # of themselves
    r"gemma|glm|llama-?2|vicuna|mi[sx]tral|zephyr|tinyllama|codellama|bloom|baichuan|internlm|"
    r"for_inference\(|\bbatch_size=1\b",
    re.IGNORECASE,
)
_RIGHT_OR_SO = re.compile(  # tokenizers that pad on the right, or what comes of it
    r"qwen-?_?[23]|llama-?_?3|gpt-?2|\bphi-|smollm|pythia|\bopt-\d|falcon|olmo|padding_side\W+right|"
    r"\bbatch\w*\b.{0,80}\b(?:worse|differ\w*|gar\w+|gibberish|wrong|empty|nonsense|lower|corrupt\w*|"
    r"drops?)|\bone (?:at a time|by one)\b|\bbatch[_ ]size (?:of )?1\b|\balone\b",
    re.IGNORECASE,
)
_PADDED_LOADER = re.compile(r"DataCollatorWithPadding\(|pad_sequence\(|padding=(?:True|'longest')")
_WHOLE = re.compile(r"(?:messages|conversations?|convos?|chats?|dialogs?|dialogue|msgs)(?:'\])?$")
_ONLY_PROMPTS = re.compile(
    r"GRPO|DPO|PPO|KTO|ORPO|reward|completion|prompt_len|-100|"
    r"\+ ?\w+\[['\"](?:answer|response|output|reply|target)|\['?\"?prompt",
    re.IGNORECASE,
)
BARE = (
    "the rows of the training are laid out by a template, and the model is asked with bare text: "
    "it never sees the start of its turn, and does not write the end that it learnt"
)
SAME_LAYOUT = (
    "lay the prompt out as the rows were: apply_chat_template(messages, "
    "add_generation_prompt=True), or the training's own format up to the reply"
)
OPENED = (
    "add_generation_prompt=True stands where whole chats are rendered for training: behind the end "
    "of each last reply comes the head of another, empty turn, and the model learns to open one "
    "where it should stop"
)
CLOSE = (
    "apply_chat_template(..., add_generation_prompt=False) for the rows of the training, True only "
    "where the model is asked; train again"
)
RIGHT = (
    "prompts of several lengths are padded on the right, which is the tokenizer's default, and a "
    "decoder-only model generates from them: the reply of each shorter one goes on behind its "
    "padding, so that it is another and mostly worse than alone"
)
LEFT = (
    "tokenizer.padding_side = 'left' before the prompts are tokenized, and pass the attention mask "
    "to generate"
)


def laid_out_otherwise(beside: Beside, log: Log) -> Iterator[Finding]:
    """A template over the training's rows, and none where the same code asks the model."""
    if not beside.matching(_TRAINS) or not beside.matching(_MARKS):
        return
    all_asked = asked(beside)
    of_asked = {line.where for one in all_asked for line, _ in one.sources}
    rows = [line for line in _rows(beside) if line.where not in of_asked]
    for one in all_asked if rows else ():
        bare = next((line for line, value in one.sources if _is_bare(value)), None)
        if bare is None or _LAID_OUT.search(one.text) or not _hands_on(one):
            continue
        proof = (rows[0].says, bare.says)
        yield Finding("template_differs", SHOWN, bare, proof, why=BARE, advice=SAME_LAYOUT)
        return


def _rows(beside: Beside) -> Iterator[Line]:
    """Statements that lay out what stands in a row."""
    for line, statement in statements(beside):
        text = ast.unparse(statement)
        if _MARKS.search(text) and _OF_ROW.search(text):
            yield line


def _is_bare(value: ast.expr) -> bool:
    """Whether a prompt is written out, or the question of a row as it stands."""
    of_calls = [one.args[0] for one in calls(value) if one.args and _takes_text(one)]
    for one in [value, *of_calls]:
        first = one.elts[0] if isinstance(one, ast.List) and one.elts else one
        if isinstance(first, ast.Subscript):
            first, is_row = first.slice, True
        else:
            is_row = False
        text = first.value if isinstance(first, ast.Constant) else ""
        if isinstance(text, str) and (
            bool(is_row and _COLUMN.fullmatch(text))
            or (not is_row and len(text) > FEWEST and " " in text.strip())
        ):
            return True
    return False


def _takes_text(call: ast.Call) -> bool:
    return bool(re.search(r"tok|processor|encode|generat|pipe", name_of(call.func)))


def _hands_on(one: Asked) -> bool:
    """Whether no other function, and no sum or f-string, has a hand in the prompt."""
    if any(
        isinstance(node, ast.JoinedStr | ast.BinOp) for _, v in one.sources for node in ast.walk(v)
    ):
        return False
    return all(_HANDS_ON.fullmatch(name_of(call.func)) for _, call in one.calls())


def opened_behind_the_end(beside: Beside, log: Log) -> Iterator[Finding]:
    """The head of a reply that is asked for behind chats which end with one, in the training."""
    if not beside.matching(_LEARNS_ALL) or beside.matching(_ONLY_PROMPTS):
        return
    of_asked = {line.where for one in asked(beside) for line, _ in one.sources}
    for line, statement in statements(beside):
        if line.where in of_asked:
            continue
        for call in calls(statement):
            given = {one.arg: ast.unparse(one.value) for one in call.keywords}
            is_render = name_of(call.func) == "apply_chat_template" and call.args
            if not is_render or given.get("add_generation_prompt") != "True":
                continue
            chat = ast.unparse(call.args[0])
            if _WHOLE.search(chat) and _OF_ROW.search(chat):
                said = (line.says,)
                yield Finding("template_differs", SHOWN, line, said, why=OPENED, advice=CLOSE)
                return


def padded_on_the_right(beside: Beside, log: Log) -> Iterator[Finding]:
    """A batch of prompts that is padded without a word of the left, and generated from."""
    if not beside.matching(_RIGHT_OR_SO):
        return
    if beside.matching(_OTHER_SIDE) or beside.matching(TWO_PARTS) or not beside.matching(CAUSAL):
        return
    if beside.matching(_PADS_LEFT) and not beside.matching(_RIGHT):
        return
    for one in asked(beside):
        if "trainer" in ast.unparse(one.call.func):
            continue
        line = next((at for at, call in one.calls() if _pads_several(call, one)), None)
        loaded = re.search(r"\w*(?:loader|dataloader)\b|\bdl\b", one.text)
        if line is None and loaded and (found := beside.first(_PADDED_LOADER)):
            line = found[0]
        if line is None:
            continue
        proof = tuple(dict.fromkeys((line.says, one.line.says)))
        yield Finding("padding_side", SHOWN, line, proof, why=RIGHT, advice=LEFT)
        return


def _pads_several(call: ast.Call, of: Asked) -> bool:
    """Whether a call pads, and its texts are more than one."""
    given = {one.arg: one.value for one in call.keywords}
    pads = ast.unparse(given["padding"]) if "padding" in given else "False"
    if pads in ("False", "'do_not_pad'") and name_of(call.func) != "pad":
        return False
    text = call.args[0] if call.args else given.get("text", given.get("text_target"))
    lists = [value for _, value in of.sources] if isinstance(text, ast.Name) else []
    if any(isinstance(x, ast.Subscript) and isinstance(x.slice, ast.Slice) for x in lists):
        return True
    known = [one for one in lists if isinstance(one, ast.List | ast.ListComp)]
    if any(isinstance(value, ast.BinOp) for value in (text, *lists)):
        return False  # copies of one: [prompt] * 8
    if isinstance(text, ast.List):
        return len(text.elts) > 1
    if len(known) == 1 and isinstance(known[0], ast.List) and isinstance(text, ast.Name):
        return len(known[0].elts) > 1
    word = ast.unparse(text) if text is not None else ""
    return isinstance(text, ast.ListComp) or bool(re.search(r"s$|batch|s\[\w*:|s'\]$", word))
