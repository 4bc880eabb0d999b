"""Tiny trained models, their tokenizer, and the sums they were trained on.

    load_policy, load_reward_model, load_tokenizer    by name: "tiny", a folder, a hub id
    pick_device                                       what DEVICE="auto" means here
    replies, share_right                              what a model answers, how often it is right
    arithmetic                                        prompts, preference pairs, a reward function

Importing it is cheap and imports no torch. `python -m course_utils.zoo.make` makes the weights.
"""

from course_utils.zoo import arithmetic
from course_utils.zoo.load import load_policy, load_reward_model, load_tokenizer, pick_device
from course_utils.zoo.solve import replies, share_right

__all__ = [
    "arithmetic",
    "load_policy",
    "load_reward_model",
    "load_tokenizer",
    "pick_device",
    "replies",
    "share_right",
]
