"""A frozen adapter, then a rate of another world, then another end token."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="three_of_a_new_colleague",
    level=3,
    template="sft_lora",
    ticket="My first week here, my first job, and it dies with a traceback. I have read the "
    "documentation of all the libraries involved and adopted what it recommends. My "
    "mentor said that with me the traceback is usually only the beginning. He is on "
    "holiday until August.",
    faults=(
        Fault(
            kind="adapter",
            plant=(
                Edit(
                    "train.py",
                    "from peft import LoraConfig\n",
                    "from peft import LoraConfig, PeftModel, get_peft_model\n",
                ),
                Edit(
                    "train.py",
                    "def build_trainer(cfg):\n",
                    "def with_adapter(model, cfg):\n"
                    '    """The adapter comes from disk, so that each of us starts from '
                    'the same one."""\n'
                    '    start = f"{RUN}/start"\n'
                    "    get_peft_model(load_model(cfg), "
                    "adapter_config(cfg)).save_pretrained(start)\n"
                    "    return PeftModel.from_pretrained(model, start)\n"
                    "\n"
                    "\n"
                    "def build_trainer(cfg):\n",
                ),
                Edit(
                    "train.py",
                    "        model=load_model(cfg),\n",
                    "        model=with_adapter(load_model(cfg), cfg),\n",
                ),
                Edit(
                    "train.py",
                    "        peft_config=adapter_config(cfg),\n",
                    "",
                ),
            ),
            cause="An adapter that is loaded is loaded for inference, every weight frozen.",
            fix="PeftModel.from_pretrained(..., is_trainable=True).",
            threads=("peft#282", "trl#6700", "trl#1311"),
            also_kinds=("no_grad",),
        ),
        Fault(
            kind="rate",
            plant=(Edit("config.yaml", "learning_rate: 5.0e-3 ", "learning_rate: 3.0e-1 "),),
            cause="The learning rate is sixty times what AdamW bears here.",
            fix="The rate that was there before.",
            threads=("LLaVA#1375", "LLaVA#1301"),
        ),
        Fault(
            kind="never_stops",
            plant=(
                Edit(
                    "train.py",
                    "        completion_only_loss=True,\n",
                    '        completion_only_loss=True,\n        eos_token="<|endoftext|>",\n',
                ),
            ),
            cause="The trainer is told another end token; it sets it on the tokenizer, "
            "from which the export takes the id at which generation stops.",
            fix="No eos_token in the trainer's settings, or the one that the chat template writes.",
            threads=("ms-swift#3113", "Qwen3#927", "LLaMA-Factory#7454"),
            also_kinds=("template",),
            also_places=("train.py export",),
        ),
    ),
)
