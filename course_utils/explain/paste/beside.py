"""What stands beside the numbers of a log: settings, and sentences of whoever pasted it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.sentences import is_prose

MAX_LINES = 4_000
_NAMES = {  # of a setting, by the name used here
    "max_length": "max_length max_len max_seq_length max_seq_len cutoff_len "
    "sequence_len seq_length",
    "max_prompt_length": "max_prompt_length",
    "max_reply_length": "max_completion_length max_response_length max_new_tokens "
    "generate_max_len rollout_max_response_len",
    "tokens_per_gpu": "max_tokens_per_gpu ppo_max_token_len_per_gpu",
    "temperature": "temperature T rollout_temperature rollout_t sampling_temperature",
    "accumulation": "gradient_accumulation_steps accumulation grad_accum",
    "learning_rate": "learning_rate lr max_lr peak_lr warmup_max_lr peak_learning_rate",
    "max_grad_norm": "max_grad_norm grad_clip clip_grad clip_grad_norm gradient_clipping",
    "max_steps": "max_steps max_train_steps num_training_steps total_training_steps train_iters "
    "total_updates num_updates max_updates total_optimizer_steps",
    "beta": "beta pref_beta dpo_beta kl_coef init_kl_coef kl_loss_coef",
    "dtype": "dtype torch_dtype precision",
    "zero_stage": "stage zero_stage",
    "fp16": "fp16",
    "bf16": "bf16",
}
_KNOWN = {one: name for name, some in _NAMES.items() for one in some.split()}
_SETTING = re.compile(
    r"(?<![\w./])(?:--)?(?:\w+\.)*(?P<name>[A-Za-z][\w-]*)['\"]?"
    r"(?:\s*[=:]\s*|\s+\.{3,}\s+|\s+(?:is\s+|of\s+)?)['\"]?"
    r"(?:torch\.)?(?P<value>\d+(?:\.\d+)?(?:e-?\d+)?|true|b?float16|float32|half|fp32|bf16|fp16|auto)"
    r"(?![\w.]*\w)",
    re.IGNORECASE,
)
_STAGE = re.compile(
    r"(?<![a-z])(?P<written>(?:ds_z|zero[_-]?))(?P<value>[0-3])(?!\d)", re.IGNORECASE
)
_SAME = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32"}  # formats
_HEADER = re.compile(r"^\W*(?:run \w+\W+)?[\w-]+\s*[=:]\s*[\w.]+\W*$")  # nothing else on its line
_OTHERWISE = re.compile(
    r"^\W*(?:(?:and|now|same \w+|then) )?with(?:out)?\b.*:\s*$|\bswitch(?:ed|ing) to\b|"
    r"\bsame (?:data|config|run|settings)\b",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"\bprompts?\b[^.\n]{0,25}?(\d+) tokens|(\d+)[- ]tokens? prompts?", re.I)


@dataclass(frozen=True)
class Setting:
    """A setting as it was pasted, with its line."""

    name: str
    value: str
    line: Line
    before: int = 0  # entries that stood before it
    written: str = ""  # its name in the log

    @property
    def number(self) -> float | None:
        try:
            return float(self.value)
        except ValueError:
            return None

    @property
    def meant(self) -> str:
        """Its value, a number or a number format written in one way."""
        return _SAME.get(self.value, self.value) if self.number is None else f"{self.number:g}"

    @property
    def said(self) -> str:
        return self.line.says

    @property
    def said_of_other_run(self) -> str:
        return f"the run before it is not like this, and {self.said}"


@dataclass
class Beside:
    """Settings in their order, lines of words, and how many entries stood before each."""

    settings: list[Setting] = field(default_factory=list)
    lines: list[tuple[int, Line]] = field(default_factory=list)
    num_entries: int = 0
    last: Entry | Line | None = None
    last_step: float = 0.0

    def hear(self, part: Entry | Line) -> None:
        if isinstance(part, Entry):
            self.num_entries += 1
            self.last = part
            self.last_step = part.numbers.get("step", self.last_step)
            return
        if len(self.lines) >= MAX_LINES:
            return
        self.lines.append((self.num_entries, part))
        self.settings += (Setting(*one, part, self.num_entries, w) for *one, w in _read(part.text))

    @property
    def words(self) -> list[Line]:
        """The lines of words, in their order."""
        return [line for _, line in self.lines]

    def of(self, name: str) -> list[Setting]:
        return [one for one in self.settings if one.name == name]

    def number(self, name: str) -> Setting | None:
        """The last setting of this name that is a number."""
        return next((one for one in reversed(self.of(name)) if one.number is not None), None)

    def printed(self, name: str) -> Setting | None:
        """The last number of this name outside of sentences, which may tell of another run."""
        numbers = [one for one in self.of(name) if one.number is not None]
        return next((one for one in reversed(numbers) if not is_prose(one.line.text)), None)

    def all_matching(self, pattern: re.Pattern) -> list[tuple[Line, str]]:
        """Every match in all lines, with its line."""
        return [(line, found[0]) for line in self.words for found in pattern.finditer(line.text)]

    def within(self, after: str, until: str) -> "Beside":
        """The lines between two places."""
        low, high = place(after), place(until)
        lines = [(at, line) for at, line in self.lines if low < place(line) < high]
        return Beside(lines=lines, num_entries=self.num_entries)

    def between(self, after: str, until: str) -> "Beside":
        """What holds for a run between two places of a log ("" for its ends): what is set there,
        and what was set before and is not set anew."""
        seen = [one for one in self.settings if not until or place(one.line) <= place(until)]
        anew = {one.name for one in seen if after and place(one.line) > place(after)}
        held = [one for one in seen if one.name not in anew or place(one.line) > place(after)]
        lines = [(at, line) for at, line in self.lines if not until or place(line) <= place(until)]
        return Beside(held, lines, self.num_entries, self.last)

    def prompt_tokens(self) -> tuple[int, Line] | None:
        """How long a prompt is said to be."""
        for line in self.words:
            if found := _TOKENS.search(line.text):
                return int(found[1] or found[2]), line
        return None

    def changed(self) -> tuple[Setting, Setting] | None:
        """A setting that alone is the head of a run, and the one that heads the last run."""
        heads = [one for one in self.settings if _HEADER.match(one.line.text)]
        for one in reversed(heads[:-1]):
            if one.name == heads[-1].name and one.value != heads[-1].value:
                return (one, heads[-1]) if one.before < heads[-1].before else None
        return None

    def compares(self, num_last: int) -> bool:
        """Whether a line just before the last run, of so many entries, says what is other in it."""
        before = self.num_entries - num_last
        between = [line for at, line in self.lines if at == before and before]
        return any(_OTHERWISE.search(line.text) for line in between)

    def told(self) -> Iterator[Line]:
        """The sentences of the writer: lines of prose before the first entry or behind the last."""
        for before, line in self.lines:
            if before in (0, self.num_entries) and is_prose(line.text):
                yield line

    def matching(self, pattern: re.Pattern) -> tuple[Line, str] | None:
        """The first line of all that matches, with what does."""
        found = self.first(pattern)
        return found and (found[0], found[1][0])

    def first(self, pattern: re.Pattern) -> tuple[Line, re.Match] | None:
        """The same, with the match itself."""
        for _, line in self.lines:
            if match := pattern.search(line.text):
                return line, match
        return None


def _read(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and written name of each setting in a line.

    >>> list(_read("--gradient-accumulation-steps 4 --deepspeed ds_z2.json"))
    [('accumulation', '4', 'gradient_accumulation_steps'), ('zero_stage', '2', 'ZeRO stage')]
    """
    for found in _SETTING.finditer(text):
        written = found["name"].replace("-", "_")
        name = _KNOWN.get(written) or _KNOWN.get(written.lower())
        value = found["value"].lower()
        if name == "zero_stage":
            yield name, value, "ZeRO stage"
        elif name and (name != "temperature" or written != "t"):
            yield name, value, written
    for found in _STAGE.finditer(text):
        yield "zero_stage", found["value"], "ZeRO stage"
