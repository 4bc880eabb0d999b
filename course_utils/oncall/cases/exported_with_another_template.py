"""The exported tokenizer has another chat template."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="exported_with_another_template",
    level=1,
    template="dpo_digits",
    ticket="A strange split: ranked by likelihood, it puts good before bad nearly always. Asked "
    "to write by itself, hardly anything is correct. I thought the two went together. "
    "Greedy or sampled makes no difference.",
    faults=(
        Fault(
            title="exported with another chat template",
            kind="template",
            plant=(
                Edit(
                    "train.py",
                    "def export(trainer):",
                    "# as the new gateway renders a chat\n"
                    "SERVED = (\n"
                    "    \"{% for message in messages %}{{ message['role'] | upper }}: {{ "
                    "message['content'] }}\\n\"\n"
                    '    "{% endfor %}{% if add_generation_prompt %}ASSISTANT: {% endif '
                    '%}"\n'
                    ")\n"
                    "\n"
                    "\n"
                    "def export(trainer):",
                ),
                Edit(
                    "train.py",
                    '    tokenizer.save_pretrained(f"{RUN}/model")\n',
                    "    tokenizer.chat_template = SERVED\n"
                    '    tokenizer.save_pretrained(f"{RUN}/model")\n',
                ),
            ),
            enough=(2,),
            cause="The exported tokenizer has another chat template than the one that the model "
            "was trained with.",
            fix="Export the chat template that the model was trained with.",
            threads=("open-r1#462", "OpenRLHF#393"),
        ),
    ),
    non_fixes={
        "another loss": (Edit("config.yaml", "loss_type: sigmoid", "loss_type: ipo"),),
        "a higher beta": (Edit("config.yaml", "beta: 0.1", "beta: 0.3"),),
    },
)
