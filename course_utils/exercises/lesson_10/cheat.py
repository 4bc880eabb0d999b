"""Exercise 10.1: three replies that three verifiers pay whatever the answer is."""

from course_utils.checks.declare import Criterion, Exercise
from course_utils.reproductions.lesson_10.verifiers import VERIFIERS

LONGEST = 2000
GOLDS = [str(gold) for gold in range(298)]  # every sum of three numbers below 100
ALL = " ".join(GOLDS)


def three_short_texts(replies: dict) -> str | None:
    if {str(key) for key in replies} != set(VERIFIERS):
        return f"the keys are {sorted(map(str, replies))}; the check needs 1, 2 and 3"
    for key, reply in replies.items():
        if not isinstance(reply, str):
            return (
                f"reply {key} is a {type(reply).__name__}; a model writes text, so a str is needed"
            )
        if len(reply) > LONGEST:
            return f"reply {key} has {len(reply)} characters; at most {LONGEST} are allowed"
    return None


def _is_paid(number: str):
    def is_paid(replies: dict) -> str | None:
        reply = replies.get(number, replies.get(int(number)))
        unpaid = [gold for gold in GOLDS if not VERIFIERS[number](reply, gold)]
        if not unpaid:
            return None
        shown = reply if len(reply) <= 40 else f"{reply[:37]}..."
        return f"{shown!r} earns 0 for {len(unpaid)} of {len(GOLDS)} answers, such as {unpaid[0]}"

    is_paid.__name__ = f"verifier_{number}_pays"
    return is_paid


PAID = {number: _is_paid(number) for number in VERIFIERS}
GOOD = {"1": "", "2": ALL, "3": "nan"}
WHYS = {
    "1": "training finds a reply that is paid for every question, if the policy ever samples it",
    "2": "a policy that may name several answers need not know which one is right",
    "3": "a verifier that only asks what is too far off pays everything else",
}
NEXTS = {
    "1": "read the second half of the condition: which text is part of every text?",
    "2": "it does not count the numbers; write each number as the answers are written",
    "3": "which float is never larger than 0.5, whatever you subtract from it?",
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
        "What does each verifier not look at?",
        "1: which text is contained in every text? 2: how many numbers may a reply hold? 3: which "
        "word does float() accept that is not a number?",
        "1: shorter than any number. 2: 2000 characters have room for all possible answers. 3: try "
        "float() on words of three letters, and compare the result with 0.5.",
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
