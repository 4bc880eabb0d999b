"""The batch that a model learns from, token by token.

tokens     a batch as rows of tokens
template   what a tokenizer's chat template puts around a reply
case       both, with the settings that made them
ends, places, prompts    what can be wrong, one function each
paint, report            what is shown
rows, sources    where batches come from: a Trainer, a DataLoader, a mapping
reading    `inspect_batch`, the front door
"""

from course_utils.diagnostics.batch_view.reading import inspect_batch

__all__ = ["inspect_batch"]
