"""Which checkpoint is served: the best in the table of scores."""

import json

from data import read_jsonl
from evaluate import measured, read_task


def table_of(folders, tokenizer, cfg):
    """A row for each checkpoint; what the table has of this run is not measured again."""
    earlier = [row for row in read_jsonl(cfg["scores_file"]) if row["run"] == cfg["run_name"]]
    known = {row["step"]: row for row in earlier}
    task, table = read_task(), []
    for step, folder in folders.items():
        scores = known.get(step) or measured(folder, task, tokenizer)
        table.append({"run": cfg["run_name"], "step": step} | scores)
        print("scores:", table[-1])
    return table


def best_step(table, cfg):
    name = cfg["metric_for_best"]
    pick = max if cfg["greater_is_better"] else min
    return pick(table, key=lambda row: row[name])["step"]


def write_table(table, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1)
