"""Tokenized rows that are kept under a key which does not say by which tokenizer."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

_KEY = re.compile(
    r"^(?P<name>\w*(?:key|hash|digest|fingerprint|cache|path|file)\w*|f|h|p)\s*=\s*(?P<of>.*"
    r"(?:sha1|sha256|md5|xxh\w*|blake2\w*|hash|fingerprint|cache|\bf['\"].*\{).*)"
)
_KEPT = re.compile(
    r"\bload_from_disk\(|\bos\.path\.(?:exists|isfile|isdir)\(|\.(?:exists|is_file|is_dir)\(\)|"
    r"\bcache_file_name\b|\bnew_fingerprint\b"
)
_TOKENIZES = re.compile(r"\btok(?:enizer|enize\w*)?\b|\bencode\w*\b", re.IGNORECASE)
_SAYS_WHICH = re.compile(r"tok|vocab|model|template|base|name_or_path|ckpt|checkpoint", re.I)
_WHOLE = re.compile(
    r"\*\*\(?(?:cfg|config|conf|args|params|hparams)\b(?!\[|\.)|"
    r"(?:dumps|asdict|vars|str|repr|dict|hash)\((?:cfg|config|conf|args|params|hparams)[,)]"
)
_FIRST_IDS = (  # how every rendered chat of a family begins, and whose tokenizer it is
    ("Llama 3", (128000, 128006), r"llama"),
    ("Qwen", (151644,), r"qwen"),
    ("Llama 2 or Mistral", (1, 518), r"llama|mistral"),
    ("Gemma", (2, 105), r"gemma"),
    ("Gemma 2", (2, 106), r"gemma"),
)
_IDS = re.compile(r"\[\s*(?P<ids>\d+(?:\s*,\s*\d+){3,})")
_LOADED = re.compile(
    r"\b(?P<family>Qwen|Llama|Gemma|Mistral|Phi|SmolLM|OLMo|GPTNeoX|GPT2)\w*Tokenizer\w*|"
    r"\b(?:tokenizer|model|path|model_name_or_path|base)['\"]?\s*[:=]\s*['\"]?"
    r"[\w./-]*?(?P<named>qwen|llama|gemma|mistral|phi|smollm|olmo)[\w.-]*",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:swap\w*|chang\w*|switch\w*|replac\w*|another|new|other)\b.{0,25}\b(?:base|model|tokenizer|"
    r"template)\b|^\+\s*(?:path|model\w*|tokenizer\w*|chat_template|base\w*)\s*:",
    re.IGNORECASE,
)
GUESSED = 6.0  # nats a token: a loss that no tokenizer of its own gives a trained model
SHOWN, FOLLOWS = 9.3, 7.2
OF_ANOTHER = (
    "the run reads rows that another tokenizer made: tokenized rows are kept under a key that "
    "does not contain the tokenizer or its template, so that after a change of the model the old "
    "ids are loaded, which are other words to it. No index fails where they are all inside the "
    "vocabulary"
)
NAME_IT = (
    "put the tokenizer (its name and a hash of its vocabulary), the chat template and the version "
    "of the code that encodes into the key, delete the kept rows, and decode the first row before "
    "the first step; begin again from the base model"
)


def kept_without_the_tokenizer(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code whose key of tokenized rows has no tokenizer in it, and ids or a loss that show it."""
    lines = beside.words
    key = next((line for line in lines if _is_such_a_key(line)), None)
    kept = beside.matching(_KEPT)
    if key is None or kept is None or not any(map(_tokenizes, lines)):
        return
    shown, loss = _other_ids(lines), _no_words(log, beside)
    if not shown and not loss:
        return
    proof = [line.says for line in (key, kept[0])]
    weight = SHOWN if shown else FOLLOWS
    proof += [*shown, *loss]
    yield Finding("rows_prepared_before", weight, key, tuple(proof), why=OF_ANOTHER, advice=NAME_IT)


def _is_such_a_key(line: Line) -> bool:
    found = _KEY.match(line.text)
    if found is None or _WHOLE.search(found["of"]) or _SAYS_WHICH.search(found["of"]):
        return False
    return bool(re.search(r"sha1|sha256|md5|xxh|blake2|hash|fingerprint", found["of"], re.I))


def _tokenizes(line: Line) -> bool:
    """Whether a line makes rows with a tokenizer."""
    return bool(re.search(r"\bmap\(|\bfor\b", line.text) and _TOKENIZES.search(line.text))


def _other_ids(lines: list[Line]) -> list[str]:
    """A row that begins as no row of the loaded tokenizer does."""
    loaded = [(line, one) for line in lines if (one := _LOADED.search(line.text))]
    named = [(line, one) for line, one in loaded if one["family"]] or loaded[-1:]
    if not named:
        return []
    line, found = named[-1]
    family = found["family"] or found["named"]
    for row in lines:
        ids = [tuple(map(int, one["ids"].split(","))) for one in _IDS.finditer(row.text)]
        for whose, begin, models in _FIRST_IDS:
            is_begin = any(one[: len(begin)] == begin for one in ids)
            if is_begin and not re.search(models, family, re.IGNORECASE):
                return [
                    f"{row.where}: a row begins with {', '.join(map(str, begin))}, as rows of "
                    f"{whose} do; {line.where} says: {found[0].strip()}"
                ]
    return []


def _no_words(log: Log, beside: Beside) -> list[str]:
    """A first loss near that of guessing, where the model is another one than before."""
    series, changed = log.series("loss"), beside.matching(_CHANGED)
    if changed is None or not finite(log.values("loss")) or series[0][1] < GUESSED:
        return []
    entry = series[0][0]
    return [
        f"{said(entry, 'loss')} at {entry.where}, near that of a guess",
        f"{changed[0].where} says: {changed[1]}",
    ]
