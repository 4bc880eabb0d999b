"""Three sources of solutions, as steps with a mark each."""

import json

WRONG = 0
RIGHT = 1
UNMARKED = -100
NAMES = ("wrong", "right")  # by the number of the mark


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def of_raters(row, cfg):
    """Right where people give enough points in the mean; nobody has to score every step."""
    marks = []
    for given in zip(*row["scores"].values()):
        scores = [score for score in given if score is not None]
        if scores:
            marks.append(RIGHT if sum(scores) / len(scores) >= cfg["least_score"] else WRONG)
        else:
            marks.append(UNMARKED)
    return {"steps": row["steps"], "marks": marks}


def of_rollouts(row, cfg):
    """Right where enough of the rollouts that go on from the step end well."""
    marks = [RIGHT if wins >= cfg["least_wins"] else WRONG for wins in row["wins"]]
    return {"steps": row["steps"], "marks": marks}


def of_finder(row):
    """Right before the first error; nothing is known of the steps behind it."""
    steps, first = row["solution"].split("\n"), row["first_error"]
    if first < 0:
        return {"steps": steps, "marks": [RIGHT] * len(steps)}
    behind = [UNMARKED] * (len(steps) - first - 1)
    return {"steps": steps, "marks": [RIGHT] * first + [WRONG] + behind}


def load_solutions(cfg):
    """The solutions of all sources."""
    raters = [of_raters(row, cfg) for row in read_jsonl(cfg["raters_file"])]
    rollouts = [of_rollouts(row, cfg) for row in read_jsonl(cfg["rollouts_file"])]
    finder = [of_finder(row) for row in read_jsonl(cfg["finder_file"])]
    solutions = raters + rollouts + finder
    print(f"{len(solutions)} solutions of three sources, the first: {solutions[0]}")
    return solutions
