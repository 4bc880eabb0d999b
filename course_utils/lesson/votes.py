"""The claims about one failure: the reader's votes, and what the evidence says of each claim.

Claims are data (`lesson.claims`); verdicts come from the lesson, votes from the reader.
"""

import re

from IPython.display import display

from course_utils.checks.declare import TODO
from course_utils.errors import BadRequest, DidNotFail
from course_utils.files.progress import Progress
from course_utils.lesson.claim_card import LETTERS, OPEN, Ballot, ClaimCard, Claims, Verdict, Vote
from course_utils.lesson.claims import CLAIMS
from course_utils.shown.wrap import say

HOW_TO = (
    "One mark per claim, in order: t true, p partly, f false; add ! where you are sure; "
    '- leaves one out. For three claims: "t! - f".'
)
PARTLY = (
    "Partly: right in some of the cases that the claim speaks of and wrong in others, or right for "
    "another reason than it gives."
)
MARK = "[tpf]!?|-"


class Verdicts:
    """The claims about one failure, voted on first and then judged one by one.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> verdicts = Verdicts("reward", Progress(pathlib.Path(folder.name) / "p.json"))
    >>> verdicts.judge("C4", "false", "it dies with G = 1 too", "section 6", holds=True)
    reward/C4, '32 accumulation steps amplify the precision problem'
      FALSE: it dies with G = 1 too
    >>> print(verdicts.table().rows[3][2])
    FALSE: it dies with G = 1 too
    >>> folder.cleanup()
    """

    def __init__(self, topic: str, progress: Progress, *, strict: bool = False) -> None:
        self.topic, self._progress, self._strict = topic, progress, strict
        self._claims = {f"C{n}": claim for n, claim in enumerate(CLAIMS[topic], start=1)}
        self._ballot = [name for name, claim in self._claims.items() if claim.voted]
        self._verdicts: dict[str, Verdict] = {}

    def suspects(self, *claims: str) -> Claims:
        """The named claims (or all that are voted on) as their authors made them."""
        cards = tuple(self._card(claim, judged=False) for claim in claims or self._ballot)
        rows, columns = [(card.id, card.says) for card in cards], ("claim", "what the article says")
        return Claims(columns=columns, rows=rows, notes=() if claims else (PARTLY,), cards=cards)

    def vote(self, votes: object) -> None:
        """Store one vote for each claim, such as "t! f p - f!" or "t!fp-f!", before the evidence.

        No vote is wrong here. TODO leaves the votes as they are.

        Raises:
            BadRequest: a mark that does not exist, or not one mark for each claim.
        """
        if votes is TODO:
            say(f"You have not voted on {len(self._ballot)} claims. {HOW_TO}")
            return
        if not isinstance(votes, str):
            raise BadRequest(
                f"the votes are a {type(votes).__name__}",
                why="they are read from one string, in the order of the claims",
                fix=HOW_TO,
            )
        words = votes.lower().replace(",", " ").split()
        unknown = [word for word in words if not re.fullmatch(f"({MARK})+", word)]
        marks = re.findall(MARK, "".join(words))
        if unknown or len(marks) != len(self._ballot):
            count = f"{len(marks)} votes for {len(self._ballot)} claims"
            raise BadRequest(
                f"{unknown[0]!r} is no vote" if unknown else count,
                why="each claim gets a vote of its own, which is shown back with the evidence",
                fix=HOW_TO,
            )
        given = {c: mark for c, mark in zip(self._ballot, marks, strict=True) if mark != "-"}
        self._progress.record_votes(self.topic, given)
        display(Ballot(tuple(self._card(claim, judged=False) for claim in self._ballot)))

    def judge(
        self,
        claim: str,
        word: str,
        nuance: str,
        shown_by: str,
        *,
        holds: bool,
        seeds: str = "",
        show: bool = True,
    ) -> None:
        """Record a verdict that rests on something the lesson has just computed.

        Args:
            word: "true", "partly" or "false".
            nuance: what exactly was seen; may be empty.
            shown_by: the section or cell that shows it.
            holds: whether this run shows it; where it does not, the verdict says so.
            seeds: on how many seeds of those tried it was shown, such as "9 of 10".
            show: False for a claim that nobody voted on: it appears in the table alone.

        Raises:
            BadRequest: there is no such claim or word.
            DidNotFail: `holds` is false, in a strict run.
        """
        if not holds and self._strict:
            raise DidNotFail(
                f"{self.topic}/{claim} was to be judged {word!r}, but the evidence is not there",
                why="a verdict of this course rests on what its cells compute",
                fix="look at the values above; run `course doctor` if you changed nothing",
            )
        self._record(claim, Verdict(word, nuance, shown_by, seeds, bool(holds)), show=show)

    def cite(self, claim: str, word: str, nuance: str, source: str) -> None:
        """Record a verdict that no cell can show: it rests on a source, and says so.

        Raises:
            BadRequest: there is no such claim or word.
        """
        self._record(claim, Verdict(word, nuance, f"read, not run: {source}"))

    def _record(self, claim: str, verdict: Verdict, *, show: bool = True) -> None:
        if claim not in self._claims or verdict.word not in (*LETTERS.values(), OPEN):
            raise BadRequest(
                f"there is no claim {self.topic}/{claim}, or no verdict {verdict.word!r}",
                why="a verdict belongs to a claim of the article, and says true, partly or false",
                fix=f"use one of {', '.join((*self._claims, *LETTERS.values(), OPEN))}",
            )
        self._verdicts[claim] = verdict
        if show:
            display(self._card(claim))

    def _card(self, claim: str, *, judged: bool = True) -> ClaimCard:
        verdict = self._verdicts.get(claim) if judged else None
        said = self._claims[claim]
        name = f"{self.topic}/{claim}"
        return ClaimCard(name, said.says, said.source, self._vote(claim), verdict)

    def _vote(self, claim: str) -> Vote | None:
        mark = self._progress.votes(self.topic).get(claim)
        return Vote(mark) if mark else None

    def table(self) -> Claims:
        """Every claim with its verdict and your vote, and your score below."""
        cards, rows = tuple(map(self._card, self._claims)), []
        for card in cards:
            verdict = card.verdict or Verdict("not judged yet", "", "")
            rows.append((card.id, card.says, str(verdict), verdict.shown_by, card.voted or "-"))
        columns = ("claim", "what the article says", "verdict", "shown by", "your vote")
        return Claims(columns=columns, rows=rows, notes=self._score(), cards=cards)

    def _score(self) -> tuple[str, ...]:
        cards = {claim: self._card(claim) for claim in self._claims}
        voted = {c: card for c, card in cards.items() if card.is_decided and card.vote}
        if not voted and any(card.vote for card in cards.values()):
            return ("No claim that you voted on has been shown in this session, so no score.",)
        if not voted:
            return ("You did not vote, so there is no score.",)
        off = {c: card.verdict.steps_off(card.vote) for c, card in voted.items()}
        sure = [c for c, card in voted.items() if card.vote.is_sure]
        wrong_sure = [c for c in sure if off[c] == 2]
        agree, beside = (list(off.values()).count(steps) for steps in (0, 1))
        more = f", {beside} more {'is' if beside == 1 else 'are'} one step off" if beside else ""
        lines = [f"Your score: {agree} of {len(voted)} votes agree with the evidence{more}."]
        if wrong_sure:
            lines.append(f"Sure, and wrong: {', '.join(wrong_sure)}. Look at these again.")
        elif sure:
            lines.append(f"You were sure of {len(sure)}, and not once quite wrong.")
        return tuple(lines)
