"""Exercise 02.8: a job that nobody has explained, diagnosed and mended by the reader."""

from dataclasses import dataclass, replace
from functools import cache, partial

from course_utils.diagnostics import warm_children
from course_utils.exercises.declare import Criterion, Exercise
from course_utils.reproductions.unseen_02 import TEACHER, TOKENS, Job

KEYS = ("ended", "place", "settings", "cause", "fix")
SEEDS = (3, 5, 8)  # other data than the reader's own runs have
LIMIT_S = 12.0  # a run that lives takes a second of CPU
STUCK = ("time limit", "timeout", "timed out", "hang", "hangs", "hung", "stuck", "deadlock")


@dataclass(frozen=True)
class Truth:
    """What is right about one job. tests/test_lesson_02_unseen.py finds it with instruments."""

    job: Job
    ended: str
    place: str
    settings: tuple[str, ...]
    cause: str
    fix: dict[str, object]


SIGBUS = Truth(TOKENS, "SIGBUS", "read_batch", ("tokens", "renew"), "e", {"write": "new file"})
HANG = Truth(
    TEACHER,
    "time limit",
    "ask_teacher",
    ("teacher", "targets"),
    "b",
    {"collect": "as it comes"},
)


def ended_as(answer: dict) -> str:
    """The outcome in an autopsy's words, from what the reader calls it."""
    word = str(answer["ended"]).strip()
    return "time limit" if word.lower() in STUCK else word.upper()


def place_of(answer: dict) -> str:
    """The function's name, also from a whole line of a stack."""
    return str(answer["place"]).split()[-1].removesuffix("()")


@cache
def first_bad_end(job: Job, name: str, value: object) -> str | None:
    """How the failing run ends with one option changed; None if it lives with every seed."""
    with warm_children(preload=job.preload) as in_child:
        for seed in SEEDS:
            run = partial(job.run, job.fails | {name: value}, seed)
            found = in_child(run, timeout_s=LIMIT_S)
            if found.outcome != "lived":
                return f"with {name}={value!r} and other data (seed {seed}) {found.headline}"
    return None


def has_the_five_parts(job: Job):
    """The form: five keys, known settings, one option with another of its values."""

    def looks_like_a_diagnosis(answer: dict) -> str | None:
        if set(answer) != set(KEYS):
            given = ", ".join(map(str, answer)) or "none"
            return f"its keys are {given}; asked are {', '.join(KEYS)}"
        for key in ("ended", "place", "cause"):
            if not (isinstance(answer[key], str) and answer[key].strip()):
                return f"{key} is {answer[key]!r}; a word is asked"
        return settings_differ(answer["settings"]) or fix_differs(answer["fix"])

    def settings_differ(names: object) -> str | None:
        if not isinstance(names, tuple | list | set | frozenset):
            return f"settings is {names!r}; a tuple, a list or a set of names is asked"
        strangers = [name for name in names if name not in tuple(job.fails)]
        known = ", ".join(job.fails)
        if strangers:
            return f"{strangers[0]!r} is none of the settings that differ: {known}"
        return None

    def fix_differs(fix: object) -> str | None:
        if not isinstance(fix, dict) or len(fix) != 1:
            return f"fix is {fix!r}; a dict with one setting is asked"
        [(name, value)] = fix.items()
        if name in job.fails:
            return f"the new configuration needs its {name}; the fix is one of {list(job.options)}"
        if name not in job.options:
            return f"the job has no option {name!r}; the fix is one of {list(job.options)}"
        others = job.options[name][1:]
        if value not in others:
            return f"{name}={value!r}; the other value that it may have is {others[0]!r}"
        return None

    return looks_like_a_diagnosis


def unseen_variant(title: str, truth: Truth) -> Exercise:
    """The exercise on one job."""

    def names_the_end(answer) -> str | None:
        ended = ended_as(answer)
        return None if ended == truth.ended else f"it says {answer['ended']!r}"

    def names_the_place(answer) -> str | None:
        return None if place_of(answer) == truth.place else f"it says {answer['place']!r}"

    def names_the_settings(answer) -> str | None:
        given = set(answer["settings"])
        if given == set(truth.settings):
            return None
        spare = given > set(truth.settings)
        more = "one of them can be left out" if spare else "the run lives with these alone"
        return f"it says {', '.join(sorted(given)) or 'none'}: {more}"

    def names_the_cause(answer) -> str | None:
        letter = str(answer["cause"]).strip().lower().rstrip(")")
        return None if letter == truth.cause else f"your letter is {letter!r}"

    def mends_it(answer) -> str | None:
        [(name, value)] = answer["fix"].items()
        return first_bad_end(truth.job, name, value)

    form = has_the_five_parts(truth.job)
    return Exercise(
        id="02.8",
        name="UNSEEN",
        title=title,
        minutes=15,
        difficulty="a diagnosis in five parts",
        points=6,
        reads="diagnosis",
        expects=(dict,),
        hints=(
            "Run the new configuration in a child, with preload=. What does the autopsy say, and "
            "what is its innermost frame that belongs to the job?",
            "Let bisect_config compare the two configurations. What do the settings that it finds "
            "do in the function where the job ended?",
            "Read that function and what it works on, in patient.source(). Two things happen in "
            "an order, or in a place, in which they must not; one option changes just that.",
        ),
        form=form,
        criteria=(
            Criterion(
                "It says how the job ended.",
                names_the_end,
                why="a signal, an exit code and a time limit have different causes",
                next="run patient.fails in a child, with preload=, and look at .outcome",
            ),
            Criterion(
                "It names the function of the job in which that happened.",
                names_the_place,
                why="library frames are where a fault shows, your own where it was made",
                next="the stack is innermost first: take the first frame of unseen_02.py",
            ),
            Criterion(
                "It names the settings that are needed, and no others.",
                names_the_settings,
                why="each setting too many is one more that somebody will never dare to use",
                next="bisect_config(patient.works, patient.fails, patient.run, ...)",
            ),
            Criterion(
                "It names the cause.",
                names_the_cause,
                why="the same ending has several causes, and each needs another fix",
                next="strike out what would end in another way, or needs other settings",
            ),
            Criterion(
                "With the fix the new configuration trains to its end, on other data too.",
                mends_it,
                why="a fix that gives up what was asked for, or helps by chance, is none",
                next="which option changes what happens in the function that you named?",
            ),
        ),
        answer={key: getattr(truth, key) for key in KEYS},
        case=lambda: truth.job,
        time_limit_s=90.0,
    )


ON_HANG = unseen_variant("A job that goes silent", HANG)
ON_SIGBUS = unseen_variant("A job that is gone", SIGBUS)
UNSEEN = replace(ON_SIGBUS, also=(ON_HANG,))
