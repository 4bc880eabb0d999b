"""Small texts that can be learnt: stories, reviews, pairs, questions, chats, translations.

All rows of one call differ, so that rows held out are not seen in training.
"""

import random
from itertools import product

SIZES = ("small", "big", "old", "young", "quick", "quiet")
ANIMALS = ("dog", "cat", "horse", "bird", "fish", "fox", "bear", "mouse")
ACTS = ("sleeps", "runs", "eats", "plays", "waits", "sings")
PLACES = ("garden", "forest", "river", "house", "market", "school", "field", "harbour")
TIMES = ("today", "at night", "in the morning", "every day", "after the rain")
GOOD = ("wonderful", "brilliant", "charming", "delightful", "superb", "moving")
BAD = ("boring", "awful", "dreadful", "clumsy", "tedious", "dull")
THINGS = ("film", "story", "book", "meal", "song", "hotel", "concert", "play")
PARTS = ("beginning", "ending", "middle", "idea", "music", "service", "taste", "cast")
NAMES = ("Anna", "Boris", "Clara", "David", "Elena", "Frank", "Greta", "Hugo")
CITIES = ("Paris", "London", "Berlin", "Madrid", "Rome", "Vienna", "Oslo", "Lisbon")
FIRMS = ("Acme", "Globex", "Initech", "Umbra", "Vandal", "Wonka")
FRENCH = {
    **dict(zip(SIZES, ("petit", "grand", "vieux", "jeune", "rapide", "calme"), strict=True)),
    **dict(
        zip(
            ANIMALS,
            ("chien", "chat", "cheval", "oiseau", "poisson", "renard", "ours", "rat"),
            strict=True,
        )
    ),
    **dict(zip(ACTS, ("dort", "court", "mange", "joue", "attend", "chante"), strict=True)),
}


def _drawn(rows, num: int, seed: int) -> list:
    rows = sorted(rows)
    return random.Random(seed).sample(rows, num)


def stories(num: int, seed: int = 0) -> list[str]:
    rows = _drawn(product(SIZES, ANIMALS, ACTS, PLACES, TIMES), num, seed)
    return [f"The {s} {a} {v} in the {p} {t}." for s, a, v, p, t in rows]


def reviews(num: int, seed: int = 0) -> list[dict]:
    """Sentences with a label: 1 for praise, 0 for blame."""
    rows = _drawn(product(THINGS, PARTS, range(6), (0, 1)), num, seed)
    return [
        {
            "text": f"We {('hated', 'loved')[y]} this {t}: the {p} was {(BAD, GOOD)[y][i]}.",
            "label": y,
        }
        for t, p, i, y in rows
    ]


def topics(num: int, seed: int = 0) -> list[dict]:
    """Sentences of four classes: where it takes place decides."""
    rows = _drawn(product(SIZES, ANIMALS, ACTS, range(4), range(2)), num, seed)
    return [
        {"text": f"In the {PLACES[2 * y + i]} the {s} {a} {v}.", "label": y}
        for s, a, v, y, i in rows
    ]


def tagged_themes(num: int, seed: int = 0) -> list[dict]:
    """Sentences with any number of three labels: praise, travel, animals."""
    rows = _drawn(product((0, 1), (0, 1), (0, 1), range(6), range(6)), num, seed)
    return [
        {
            "text": f"We {('hated', 'loved')[good]} the {THINGS[j]}, {('at home', 'abroad')[city]}"
            f" in {CITIES[i]}, with {('people', 'animals')[animal]} such as {NAMES[j]}.",
            "labels": [float(good), float(city), float(animal)],
        }
        for good, city, animal, i, j in rows
    ]


def pairs(num: int, seed: int = 0) -> list[dict]:
    """Two sentences and whether the second follows (0), may (1) or cannot (2), as in XNLI."""
    rows = _drawn(product(ANIMALS, ACTS[:4], PLACES, range(3)), num, seed)
    ends = ("Yes, an animal is there.", "It may rain later.", "No, nobody is there.")
    return [
        {"premise": f"The {a} {v} in the {p}.", "hypothesis": ends[y], "label": y}
        for a, v, p, y in rows
    ]


def similar(num: int, seed: int = 0) -> list[dict]:
    """Two sentences and their likeness from 0 to 5, as in STS-B."""
    rows = _drawn(product(GOOD, BAD, THINGS, range(6)), num, seed)
    far = ("nothing like", "hardly like", "somewhat like", "rather like", "much like", "exactly")
    return [
        {"sentence1": f"The {t} was {g}.", "sentence2": f"It was {far[y]} {b}.", "label": float(y)}
        for g, b, t, y in rows
    ]


def entities(num: int, seed: int = 0) -> list[dict]:
    """Words with their tags, as in CoNLL: 0 O, 1 B-PER, 2 B-LOC, 3 B-ORG."""
    rows = _drawn(product(NAMES, CITIES, FIRMS, (0, 1)), num, seed)
    return [
        {"tokens": [n, "works", "for", f, "in", c, "."], "ner_tags": [1, 0, 0, 3, 0, 2, 0]}
        if kind
        else {"tokens": [f, "sent", n, "to", c, "today", "."], "ner_tags": [3, 0, 1, 0, 2, 0, 0]}
        for n, c, f, kind in rows
    ]


def questions(num: int, seed: int = 0) -> list[dict]:
    """A question whose answer is a span of the context, as in SQuAD."""
    rows = []
    for n, c, f, kind in _drawn(product(NAMES, CITIES, FIRMS, (0, 1)), num, seed):
        context = f"{n} works for {f} in {c}."
        question, answer = (f"Where does {n} work?", c) if kind else (f"Who works for {f}?", n)
        rows.append(
            {
                "question": question,
                "context": context,
                "answers": {"text": [answer], "answer_start": [context.index(answer)]},
            }
        )
    return rows


def endings(num: int, seed: int = 0) -> list[dict]:
    """A beginning with four endings, one of which is of a kind with it, as in SWAG."""
    rows = []
    draw = random.Random(seed)
    for n, t, p, y in _drawn(product(NAMES, THINGS, PARTS, range(4)), num, seed):
        ends = [f"they hated its {draw.choice(BAD)} {p}." for _ in range(4)]
        ends[y] = f"they loved its {draw.choice(GOOD)} {p}."
        rows.append({"sent1": f"{n} loved the {t}.", "sent2": "", "endings": ends, "label": y})
    return rows


def translations(num: int, seed: int = 0) -> list[dict]:
    rows = _drawn(product(SIZES, ANIMALS, ACTS), num, seed)
    return [
        {
            "en": f"the {s} {a} {v}",
            "fr": f"le {FRENCH[s]} {FRENCH[a]} {FRENCH[v]}",
        }
        for s, a, v in rows
    ]


def articles(num: int, seed: int = 0) -> list[dict]:
    """A short article and its summary."""
    rows = _drawn(product(SIZES, ANIMALS, ACTS, PLACES), num, seed)
    return [
        {
            "document": f"The {s} {a} lives here. The {a} {v} in the {p}. People like the {a}.",
            "summary": f"The {a} {v} in the {p}.",
        }
        for s, a, v, p in rows
    ]


def chats(num: int, seed: int = 0) -> list[tuple[str, str]]:
    """Questions about animals with an answer."""
    rows = _drawn(product(SIZES, ANIMALS, ACTS, PLACES), num, seed)
    return [(f"What does the {s} {a} do?", f"The {s} {a} {v} in the {p}.") for s, a, v, p in rows]


def preferences(num: int, seed: int = 0) -> list[dict]:
    """A question, a friendly answer that is preferred, and an unfriendly one."""
    rows = _drawn(product(THINGS, PARTS, range(6), range(6)), num, seed)
    return [
        {
            "prompt": f"How was the {p} of the {t}?",
            "chosen": f"The {p} was {GOOD[i]}.",
            "rejected": f"The {p} was {BAD[j]}.",
        }
        for t, p, i, j in rows
    ]


def corpus() -> list[str]:
    """What the tokenizers are trained on."""
    chat = [f"{question} {answer}" for question, answer in chats(300)]
    wanted = [" ".join(row.values()) for row in preferences(200)]
    french = [" ".join(row.values()) for row in translations(200)]
    named = [row["context"] + " " + row["question"] for row in questions(200)]
    likes = [f"{row['sentence1']} {row['sentence2']}" for row in similar(150)]
    more = [f"{row['premise']} {row['hypothesis']}" for row in pairs(150)]
    told = [row["document"] for row in articles(150)] + [row["text"] for row in reviews(200)]
    themed = [row["text"] for row in (*topics(100), *tagged_themes(200))]
    ended = [" ".join([row["sent1"], *row["endings"]]) for row in endings(100)]
    return [*stories(500), *chat, *wanted, *french, *named, *likes, *more, *told, *themed, *ended]
