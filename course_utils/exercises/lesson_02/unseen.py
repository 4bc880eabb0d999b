"""Exercise 02.8: a job with an unknown fault, diagnosed and fixed by the reader."""

from dataclasses import dataclass, replace
from functools import cache, partial

from course_utils.checks.broken_script import Asked, Diagnosis, Variant, names_the_cause
from course_utils.checks.declare import Criterion
from course_utils.reproductions.lesson_02.grpo_sigfpe import in_child
from course_utils.reproductions.lesson_02.unseen_02 import TEACHER, TOKENS, Job

SEEDS = (3, 5, 8)  # other data than the reader's own runs have
LIMIT_S = 12.0  # a run that lives takes a second of CPU
STUCK = ("time limit", "timeout", "timed out", "hang", "hangs", "hung", "stuck", "deadlock")


@dataclass(frozen=True)
class _Variant(Variant):
    """What is right about one job. test_lesson_02_unseen.py finds it with instruments."""

    ended: str
    settings: tuple[str, ...]

    @property
    def diagnosis(self) -> dict:
        named = {"ended": self.ended, "place": self.place, "settings": self.settings}
        return named | {"cause": self.cause}

    def place_differs(self, unseen: dict) -> str | None:
        for key in ("ended", "place", "cause"):
            if not (isinstance(unseen[key], str) and unseen[key].strip()):
                return f"{key} is {unseen[key]!r}; a word is asked"
        names, differ = unseen["settings"], tuple(self.ticket.fails)
        if not isinstance(names, tuple | list | set | frozenset):
            return f"settings is {names!r}; a tuple, a list or a set of names is asked"
        strangers = [name for name in names if name not in differ]
        if strangers:
            known = ", ".join(differ)
            return f"{strangers[0]!r} is none of the settings that differ: {known}"
        return None

    def mend_differs(self, mend: object) -> str | None:
        job = self.ticket
        if not isinstance(mend, dict) or len(mend) != 1:
            return f"fix is {mend!r}; a dict with one setting is asked"
        [(name, value)] = mend.items()
        if name in job.fails:
            return f"the new configuration needs its {name}; the fix is one of {list(job.options)}"
        if name not in job.options:
            return f"the job has no option {name!r}; the fix is one of {list(job.options)}"
        others = job.options[name][1:]
        if value not in others:
            return f"{name}={value!r}; the other value that it may have is {others[0]!r}"
        return None


class _Tried(Diagnosis):
    """A diagnosis, with the outcome in an autopsy's words and the function's name alone."""

    def __init__(self, unseen: dict, variant: _Variant) -> None:
        super().__init__(unseen, variant)
        self.unseen = unseen
        word = unseen["ended"].strip()
        self.ended = "time limit" if word.lower() in STUCK else word.upper()
        self.place = unseen["place"].split()[-1].removesuffix("()")  # of a whole line of a stack


@cache
def first_bad_end(job: Job, name: str, value: object) -> str | None:
    """How the failing run ends with one option changed; None if it lives with every seed."""
    for seed in SEEDS:
        run = partial(job.run, job.fails | {name: value}, seed)
        found = in_child(run, timeout_s=LIMIT_S)  # has imported what a job imports
        if found.outcome != "lived":
            return f"with {name}={value!r} and other data (seed {seed}) {found.headline}"
    return None


def names_the_end(tried: _Tried) -> str | None:
    return None if tried.ended == tried.variant.ended else f"it says {tried.unseen['ended']!r}"


def names_the_place(tried: _Tried) -> str | None:
    return None if tried.place == tried.variant.place else f"it says {tried.unseen['place']!r}"


def names_the_settings(tried: _Tried) -> str | None:
    given, needed = set(tried.unseen["settings"]), set(tried.variant.settings)
    if given == needed:
        return None
    more = "one of them can be left out" if given > needed else "the run lives with these alone"
    return f"it says {', '.join(sorted(given)) or 'none'}: {more}"


def mends_it(tried: _Tried) -> str | None:
    [(name, value)] = tried.fix.items()
    return first_bad_end(tried.variant.ticket, name, value)


ASKED = Asked(
    id="02.8",
    minutes=15,
    difficulty="a diagnosis in five parts",
    points=6,
    reads="diagnosis",
    hints=(
        "Run the new configuration in a child, with preload=. What does the autopsy say, and "
        "what is its innermost frame that belongs to the job?",
        "Let bisect_config compare the two configurations. What do the settings that it finds "
        "do in the function where the job ended?",
        "Read that function and the data it uses, in patient.source(). Two things happen in an "
        "order, or in a place, that is not allowed. One option changes exactly that.",
    ),
    diagnosis=(
        Criterion(
            "It says how the job ended.",
            names_the_end,
            why="a signal, an exit code and a time limit have different causes",
            next="run patient.fails in a child, with preload=, and look at .outcome",
        ),
        Criterion(
            "It names the function of the job in which that happened.",
            names_the_place,
            why="a stack ends in a library's frames; the question is where your own code stood",
            next="the stack is innermost first: take the first frame of unseen_02.py",
        ),
        Criterion(
            "It names the settings that are needed, and no others.",
            names_the_settings,
            why="each setting that you name without need is one that people will avoid for nothing",
            next="bisect_config(patient.works, patient.fails, patient.run, ...)",
        ),
        Criterion(
            "It names the cause.",
            names_the_cause,
            why="the same ending has several causes, and each needs its own fix",
            next="rule out causes that would end in another way, or that need other settings",
        ),
    ),
    mended=(
        Criterion(
            "With the fix the new configuration trains to its end, on other data too.",
            mends_it,
            why="giving up what the new configuration does, or being lucky, is not a fix",
            next="which option decides what the named function meets there? It may act in another "
            "function, earlier",
        ),
    ),
    tried=_Tried,
    time_limit_s=90.0,
)


SIGBUS = _Variant(TOKENS, "read_batch", "e", "SIGBUS", ("tokens", "renew"))
HANG = _Variant(TEACHER, "ask_teacher", "b", "time limit", ("teacher", "targets"))

ON_HANG = ASKED.on(HANG, "A job that goes silent", mend={"fix": {"collect": "as it comes"}})
ON_SIGBUS = ASKED.on(SIGBUS, "A job that is gone", mend={"fix": {"write": "new file"}})
UNSEEN = replace(ON_SIGBUS, also=(ON_HANG,))
