"""A reranker whose wrong passages are drawn at random, and that is asked for the order of hits."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_DRAWN = re.compile(
    r"\b(?:neg\w*\b.*\b)?(?:random|rng|rnd|np\.random)\.(?:sample|choices?|randint)\(\s*(?P<of>[\w.]*"
    r"(?:corpus|passages?|pages?|docs?|documents?|articles?|products?|pool)\w*)",
    re.IGNORECASE,
)
_NEGATIVES = re.compile(r"\bneg(?:ative)?s?\b", re.IGNORECASE)
_HITS = re.compile(
    r"\bRerankingEvaluator\b|\brerank\w*|\bBM25\b|\btop[- ]?\d{2,}\b|\bfirst[- ]stage\b",
    re.IGNORECASE,
)
_FALLS = re.compile(
    r"\b(?:MAP|MRR(?:@\d+)?|NDCG(?:@\d+)?|recall@\d+|hit@\d+)\W+(?P<before>\d+\.\d+)\s*(?:->|\u2192)\s*"
    r"(?P<after>\d+\.\d+)",
    re.IGNORECASE,
)
_HARD = re.compile(r"\bhard[_ -]?negatives?\b|\bmine_hard_negatives\b", re.IGNORECASE)
EASY = (
    "the wrong passages of the training are drawn at random from {of}: next to none is about the "
    "query, so the model learns to tell a subject from another one, which it soon does without a "
    "mistake. Where it is used, all candidates are hits of a search and about the query, and it "
    "has never learnt to tell such passages apart; an evaluation with random wrong passages does "
    "not show it"
)
MINE = (
    "take wrong passages from the hits of the search itself (mine_hard_negatives, or BM25's first "
    "hundred without the right ones and the nearest look-alikes), mixed with a few random ones; "
    "evaluate on the candidates of the search from the start. Another loss, more epochs or a "
    "larger model do not mend it"
)


def drawn_at_random(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that draws negatives from the whole corpus, and an order of hits that got worse."""
    lines = beside.words
    drawn = next((line for line in lines if _DRAWN.search(line.text)), None)
    worse = next((line for line in lines if _got_worse(line.text)), None)
    hits = next((line for line in lines if _HITS.search(line.text)), None)
    if not (drawn and worse and hits) or beside.matching(_HARD):
        return
    if not any(_NEGATIVES.search(line.text) for line in lines):
        return
    of = _DRAWN.search(drawn.text)["of"]
    proof = (drawn.says, worse.says)
    why = EASY.format(of=of)
    yield Finding("negatives_too_easy", 8.6, drawn, proof, why=why, advice=MINE)


def _got_worse(text: str) -> bool:
    found = _FALLS.search(text)
    return bool(found) and float(found["after"]) < float(found["before"])
