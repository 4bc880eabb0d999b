"""Exercise 10.3: a verifier that unseen cheats do not pass and odd right replies do."""

import random
from collections.abc import Callable, Iterable

from course_utils.checks.declare import Criterion, Exercise
from course_utils.exercises.lesson_10.verifier import is_the_sum

# a, b and c are added, g is the sum, w a wrong one of as many digits.
SUMS = ((76, 26, 90), (3, 4, 1), (40, 7, 20), (99, 99, 98), (0, 60, 50))
FORMS = (
    "{g}",
    "  {g}\n",
    "{g}.",
    "= {g}",
    "The sum is {g}.",
    "Answer: {g}",
    "{a}+{b}+{c}={g}",
    "{g}.0",
    "+{g}",
    "0{g}",
    "**{g}**",
    "\\boxed{{{g}}}",
    "<answer> {g} </answer>",
)
WRONG_NUMBERS = ("{w}", "The sum is {w}.", "\\boxed{{{w}}}", "{a}+{b}+{c}={w}")
QUESTIONS = ("{a}+{b}+{c}=", "{a}+{b}+{c}")
SILENCE = ("", " ", ".", "I do not know.", "= ", "<answer></answer>", "\\boxed{{}}", *QUESTIONS)
PARTS = (
    "{tail}",
    "{g}{g}",
    "1{g}",
    "{g}1",
    "-{g}",
    "\u2212{g}",
    "{g}.5",
    "1e{g}",
    "{g}e1",
    "{w}{g}",
    "{spaced}",
    "{commas}",
    "{scores}",
    "The sum is -{g}",
    "Answer: -{g}",
    "= -{g}",
    "**-{g}**",
    "\\boxed{{-{g}}}",
    "The sum is {g}5",
    "The answer is {g}5",
)
SEVERAL = (
    "{w} or {g} or {v}",
    "{v} {w} {g}",
    "{g} {w}",
    "{w} ... {g}",
    "{g} is wrong, the answer is {w}",
    "I cannot tell (not {g})",
    "<answer>{g}</answer><answer>{w}</answer>",
    "<answer>{w}</answer> <answer>{g}</answer>",
    "\\boxed{{{w}}}\\boxed{{{g}}}",
    "not {g}",
    "The sum is not {g}",
    "Answer: anything but {g}",
    "= not {g}",
    "**not {g}**",
    "\\boxed{{not {g}}}",
    "The sum is {g}? No.",
    "{g} or {g}1",
    "{w}={g}",
    "{g}={g}={w}",
    "{g}\n{w}",
    "{w}\n{g}",
    "Answer: {w} Answer: {g}",
    "The sum is {w}. The sum is {g}",
    "the answer is {g} or {w}",
    "{w} <answer>{g}</answer>",
    "{w} or \\boxed{{{g}}}",
    "{a}+{b}+{c}={w} or ={g}",
    "{a}+{b}+{c}={w}={g}",
    "{g} (or {w})",
    "{g} is not it",
)
ODD = ("1.5.2=7", "²", "=", "+", "9" * 5000, "\\boxed{192", "1/0", "nan", "sNaN", "inf", "1e400")


def _made(forms: Iterable[str]) -> list[tuple[str, str]]:
    """Each form with every sum: replies with their answers."""
    pairs = []
    for a, b, c in SUMS:
        gold = a + b + c
        names = dict(a=a, b=b, c=c, g=gold, w=gold + 1, v=gold + 10, tail=str(gold)[1:] or "x")
        for name, between in (("spaced", " "), ("commas", ","), ("scores", "_")):
            names[name] = between.join(str(gold)) if gold > 9 else "x"
        pairs += [(form.format(**names), str(gold)) for form in forms]
    return pairs


def _said(verify: Callable, reply: str, gold: str) -> object:
    try:
        return bool(verify(reply, gold))
    except Exception as error:  # a raise in a reward function ends the whole run
        return f"raises {type(error.__cause__ or error).__name__}"


def _first_that_is(
    verify: Callable, pairs: Iterable[tuple[str, str]], *, right: bool
) -> str | None:
    for reply, gold in pairs:
        said = _said(verify, reply, gold)
        if said is not right:
            seen = {True: "is accepted", False: "is refused"}.get(said, f"{said}")
            return f"with {gold} as the answer, the reply {reply!r} {seen}"
    return None


def says_true_or_false(verify) -> str | None:
    said = verify("192", "192")
    if isinstance(said, (bool, int, float)) or type(said).__name__ in ("bool_", "bool"):
        return None
    return f"it returns a {type(said).__name__}; True or False is needed"


def accepts_right_replies(verify) -> str | None:
    return _first_that_is(verify, [*_made(FORMS), ("0", "0")], right=True)


def refuses_silence_and_wrong_numbers(verify) -> str | None:
    return _first_that_is(verify, _made((*SILENCE, *WRONG_NUMBERS)), right=False)


def refuses_parts_and_other_numbers(verify) -> str | None:
    return _first_that_is(verify, _made(PARTS), right=False)


def refuses_several_numbers(verify) -> str | None:
    return _first_that_is(verify, _made(SEVERAL), right=False)


def never_raises(verify) -> str | None:
    rng, letters = random.Random(0), "0123456789=+-.,! \n<answer>/\\boxed{}sumis½²٣"
    texts = ["".join(rng.choices(letters, k=rng.randint(0, 24))) for _ in range(300)]
    for text in (*ODD, *texts):
        said = _said(verify, text, "192")
        if not isinstance(said, bool):
            shown = text if len(text) < 30 else f"{text[:9]}... of {len(text)} characters"
            return f"with 192 as the answer, the reply {shown!r} {said}"
    return None


HARDEN = Exercise(
    id="10.3",
    name="HARDEN",
    title="A verifier that accepts no cheats",
    minutes=25,
    difficulty="some lines",
    points=4,
    reads="verify",
    expects=(Callable,),
    hints=(
        "Which replies claim a number, and which only contain one?",
        "Remove what may surround the number (spaces, stars, one \\boxed{} or <answer>), "
        "and require that the *whole* rest has one of a few forms.",
        "re.fullmatch with one optional beginning ('The sum is', 'Answer:', '=', or a sum with at "
        "least one + and then =), an optional +, digits, and what may follow. Compare numbers.",
    ),
    form=says_true_or_false,
    criteria=(
        Criterion(
            "Right replies are accepted in every form that the text lists.",
            accepts_right_replies,
            why="if a right reply earns nothing, the policy learns to avoid it",
            next="compare numbers, not texts, after removing what may surround them",
        ),
        Criterion(
            "Silence, the question alone, and wrong numbers are refused.",
            refuses_silence_and_wrong_numbers,
            why="the policy first learns the paid reply that needs the least",
            next="require a claimed number, and compare all of its digits",
        ),
        Criterion(
            "Parts of the answer, and other numbers that contain its digits, are refused.",
            refuses_parts_and_other_numbers,
            why="-192, 192.5 and 1e192 contain the right digits and are other numbers",
            next="anchor the pattern at both ends: re.fullmatch, not re.search or re.findall",
        ),
        Criterion(
            "A reply that names several numbers, or retracts one, is refused.",
            refuses_several_numbers,
            why="a policy that may list candidates, or say what the answer is not, need not know "
            "it",
            next="judge the whole reply, not one line or box of it; allow only a few words before "
            "the number",
        ),
        Criterion(
            "No reply makes it raise.",
            never_raises,
            why="an exception in a reward function ends the run, possibly at step 3000",
            next="match [0-9] before you call int; int also refuses 4301 digits or more",
        ),
    ),
    answer=is_the_sum,
)
