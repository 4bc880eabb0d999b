"""Exercise 09.6: prompt, replies and tool results as one row of ids, none of them retokenised."""

from collections.abc import Callable

from course_utils.checks.declare import Criterion, Exercise

END = 319  # <|im_end|>
PROMPT = [318, 286, 198, 22, 10, 318, 289, 198]
SPELT = [83, 104, 101]  # "T", "h", "e", which the tokenizer would write as one
CASES = {
    "one reply": (PROMPT, [([24, END], [-0.1, -0.2])]),
    "a reply, a tool, a reply": (
        PROMPT,
        [([24, END], [-0.1, -0.2]), ([198, 17, 18], None), ([19, 20, END], [-0.3, -0.4, -0.5])],
    ),
    "a reply written letter by letter": (PROMPT, [([*SPELT, END], [-0.5, -0.6, -0.7, -0.8])]),
    "a reply cut off before its end": (PROMPT, [([24, 25, 26], [-1.0, -2.0, -3.0])]),
    "an empty tool result": (PROMPT, [([24], [-0.1]), ([], None), ([END], [-0.2])]),
    "tool, tool": (PROMPT, [([17], None), ([18], None), ([24, END], [-0.1, -0.2])]),
    "padding inside a reply": (PROMPT, [([317, 24, 317], [-0.7, -0.1, -0.2])]),
    "no turn yet": (PROMPT, []),
    "tokens of which the engine was certain": (PROMPT, [([24, END], [0.0, 0.0])]),
    "log-probs of many digits": (PROMPT, [([24, END], [-0.123456789, -0.00012345678])]),
    "two end tokens in a row": (PROMPT, [([24, END, END], [-0.1, -0.2, -0.3])]),
    "a tool result that begins like the reply ends": (
        PROMPT,
        [([24, END], [-0.1, -0.2]), ([END, 198], None), ([198, 24, 24], [-0.3, 0.0, -0.4])],
    ),
    "seven turns": (
        PROMPT,
        [([n, END], None if n % 3 == 2 else [-n / 10, 0.0]) for n in range(20, 27)],
    ),
}


def due(prompt: list[int], turns: list) -> tuple[list[int], list[int], list[float]]:
    """Ids, 1 where a token was sampled, and the log-prob there."""
    ids, mask, logps = list(prompt), [0] * len(prompt), [0.0] * len(prompt)
    for tokens, reported in turns:
        ids += tokens
        mask += [int(reported is not None)] * len(tokens)
        logps += reported or [0.0] * len(tokens)
    return ids, mask, logps


def _call(join: Callable, case: str):
    prompt, turns = CASES[case]
    return join(list(prompt), [(list(t), None if s is None else list(s)) for t, s in turns])


def gives_three_lists(join) -> str | None:
    got = _call(join, "one reply")
    if not isinstance(got, tuple | list) or len(got) != 3:
        return f"it returns a {type(got).__name__}; three lists are needed"
    for name, one in zip(("ids", "mask", "logps"), got, strict=True):
        if not isinstance(one, list):
            return f"{name} is a {type(one).__name__}; a list is needed"
    if len({len(one) for one in got}) != 1:
        numbers = ", ".join(str(len(one)) for one in got)
        return f"the lists have {numbers} entries; prompt and turns add as many to each of them"
    return None


def _compare(join, which: int, name: str) -> str | None:
    for case, given in CASES.items():
        got, want = list(_call(join, case)[which]), due(*given)[which]
        if got != want:
            return f"for {case} the {name} are {got}, they should be {want}"
    return None


def keeps_the_ids(join) -> str | None:
    return _compare(join, 0, "ids")


def marks_what_was_sampled(join) -> str | None:
    return _compare(join, 1, "marks")


def keeps_the_logps_in_place(join) -> str | None:
    return _compare(join, 2, "log-probs")


def by_lists(prompt, turns):
    ids, mask, logps = list(prompt), [0] * len(prompt), [0.0] * len(prompt)
    for tokens, reported in turns:
        ids.extend(tokens)
        mask.extend([0 if reported is None else 1] * len(tokens))
        logps.extend([0.0] * len(tokens) if reported is None else reported)
    return ids, mask, logps


JOIN = Exercise(
    id="09.6",
    name="JOIN",
    title="Token in, token out",
    minutes=6,
    difficulty="a few lines",
    points=3,
    reads="join",
    expects=(Callable,),
    hints=(
        "Which of the tokens did the engine sample, and which came from somewhere else?",
        "You need no text: concatenate the ids as they are, end tokens included.",
        "Begin with the prompt's ids, zeros and zeros. In each turn all three lists grow by the "
        "same number: by what, where the log-probs are None?",
    ),
    form=gives_three_lists,
    criteria=(
        Criterion(
            "The ids are those of prompt and turns, one after the other.",
            keeps_the_ids,
            why="other ids have other log-probs, and there may be more or fewer of them",
            next="concatenate; do not decode and do not drop any id",
        ),
        Criterion(
            "The marks are 1 at the tokens that were sampled, and only there.",
            marks_what_was_sampled,
            why="the policy did not sample a tool's tokens, so it must not learn from them",
            next="a turn whose log-probs are None was not sampled",
        ),
        Criterion(
            "Each log-prob is at its own token, with 0.0 elsewhere.",
            keeps_the_logps_in_place,
            why="each ratio is computed at its own position, and None is no number",
            next="extend all three lists by the same number of entries per turn",
        ),
    ),
    answer=by_lists,
)
