"""Exercise 10.1: three replies that three verifiers pay whatever the answer is."""

from course_utils.checks.declare import Criterion, Exercise
from course_utils.reproductions.lesson_10.verifiers import VERIFIERS

LONGEST = 2000
GOLDS = [str(gold) for gold in range(298)]  # every sum of three numbers below 100
ALL = " ".join(GOLDS)


def three_short_texts(replies: dict) -> str | None:
    if {str(key) for key in replies} != set(VERIFIERS):
        return f"the keys are {sorted(map(str, replies))}, and 1, 2, 3 are asked"
    for key, reply in replies.items():
        if not isinstance(reply, str):
            return (
                f"reply {key} is a {type(reply).__name__}; a model writes text, so a str is asked"
            )
        if len(reply) > LONGEST:
            return f"reply {key} has {len(reply)} characters, and {LONGEST} are allowed"
    return None


def _is_paid(number: str):
    def is_paid(replies: dict) -> str | None:
        reply = replies.get(number, replies.get(int(number)))
        unpaid = [gold for gold in GOLDS if not VERIFIERS[number](reply, gold)]
        if not unpaid:
            return None
        shown = reply if len(reply) <= 40 else f"{reply[:37]}..."
        return (
            f"{shown!r} earns 0 for {len(unpaid)} of {len(GOLDS)} answers, {unpaid[0]} among them"
        )

    is_paid.__name__ = f"verifier_{number}_pays"
    return is_paid


PAID = {number: _is_paid(number) for number in VERIFIERS}
GOOD = {"1": "", "2": ALL, "3": "nan"}
WHYS = {
    "1": "one reply that is paid for every question is what training looks for",
    "2": "a policy that may name several answers need not know which is right",
    "3": "a comparison with nan is False, and so is its opposite",
}
NEXTS = {
    "1": "read the condition from its right end: which text is part of every text?",
    "2": "it never asks how many numbers there are; write each as its answer is written",
    "3": "which float is never larger than 0.5, whatever is taken from it?",
}


CHEAT = Exercise(
    id="10.1",
    name="CHEAT",
    title="One reply for every question",
    minutes=4,
    difficulty="three texts",
    points=3,
    reads="replies",
    expects=(dict,),
    hints=(
        "What does each verifier never look at?",
        "1: what is contained in everything? 2: how many numbers may a reply hold? 3: which word "
        "does float() read that is no number?",
        "1: as short as can be. 2: ' '.join of all that can be asked. 3: three letters, and every "
        "comparison with it is False.",
    ),
    form=three_short_texts,
    criteria=tuple(
        Criterion(
            f"Verifier {n} pays your reply for all {len(GOLDS)} answers.",
            PAID[n],
            why=WHYS[n],
            next=NEXTS[n],
        )
        for n in VERIFIERS
    ),
    answer=GOOD,
)
