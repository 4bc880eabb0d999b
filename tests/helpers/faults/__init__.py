"""Planted faults and healthy runs, on which the first-non-finite instrument is tested.

small     loss functions, masks, small modules, optimizers
models    tiny-qwen2 and tiny-gemma3
trainers  GRPO, DPO and reward trainers
healthy   runs with masks, infs and large numbers in which nothing is wrong
"""
