"""Two adapters are loaded at the export, and the untrained one stays active."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="two_loaded_one_chosen",
    level=2,
    template="export_serve",
    ticket="For the audit both states must be in one process when we package, that of the "
    "beginning and that of the end. The auditors are happy. The customers get their "
    "sums in plain digits, as they did before the project.",
    faults=(
        Fault(
            title="the other of two adapters is active",
            kind="adapter",
            plant=(
                Edit(
                    "train.py",
                    "    log = train(model, rows, tokenizer.pad_token_id, cfg)\n",
                    '    model.save_pretrained(f"{RUN}/before")\n'
                    "    log = train(model, rows, tokenizer.pad_token_id, cfg)\n",
                ),
                Edit(
                    "export.py",
                    "    model = PeftModel.from_pretrained(load_base(cfg), adapter)\n",
                    '    model = PeftModel.from_pretrained(load_base(cfg), "run/before")\n'
                    '    model.load_adapter(adapter, adapter_name="after")\n'
                    '    print("loaded:", ", ".join(model.peft_config))\n',
                ),
            ),
            enough=(2,),
            cause="The adapter that is loaded first stays active, so the untrained one is merged.",
            fix='Call set_adapter("after") before the merge, or load the trained one alone.',
            threads=("peft#3756", "peft#1064"),
            also_kinds=("stale_weights",),
        ),
    ),
    non_fixes={
        "larger alpha": (Edit("config.yaml", "lora_alpha: 16", "lora_alpha: 64"),),
        "higher rate": (Edit("config.yaml", "learning_rate: 3.0e-3", "learning_rate: 2.0e-2"),),
    },
)
