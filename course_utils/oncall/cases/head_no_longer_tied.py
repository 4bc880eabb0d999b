"""The head is trained as a copy of the embeddings, and the config says that they are tied."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="head_no_longer_tied",
    level=2,
    template="own_loop",
    ticket="During the job I sample a few sums, and they look great. Reload from the folder ten "
    "minutes later and the very same prompts give rubbish that does not end. The "
    "safetensors file is a bit bigger than last month's; perhaps it was corrupted during "
    "upload?",
    faults=(
        Fault(
            kind="embeddings",
            plant=(
                Edit(
                    "train.py",
                    "    optimizer = make_optimizer(model, cfg)\n",
                    "    model.lm_head.weight = "
                    "torch.nn.Parameter(model.lm_head.weight.detach().clone())\n"
                    "    optimizer = make_optimizer(model, cfg)\n",
                ),
                Edit(
                    "train.py",
                    '"""AdamW; norms are not decayed."""\n'
                    "    decayed = [p for p in model.parameters() if p.requires_grad and "
                    "p.dim() > 1]\n"
                    "    plain = [p for p in model.parameters() if p.requires_grad and "
                    "p.dim() <= 1]\n",
                    '"""AdamW; the norms and the head are not decayed."""\n'
                    "    head = model.lm_head.weight\n"
                    "    decayed = [p for p in model.parameters() if p.dim() > 1 and p is "
                    "not head]\n"
                    "    plain = [head, *(p for p in model.parameters() if p.dim() <= 1)]\n",
                ),
            ),
            cause="The head gets a copy of the table of embeddings and is trained apart; "
            "config.json says that the two are one, so whoever loads the model drops "
            "the head.",
            fix="Leave the head tied, or say in config.json that it is not.",
            threads=("LlamaFactory#10560", "vllm#6758"),
        ),
    ),
    non_fixes={
        "more decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.1"),),
        "no warm-up": (Edit("config.yaml", "warmup_steps: 6", "warmup_steps: 1"),),
    },
)
