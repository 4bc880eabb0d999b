"""Right and wrong answers of exercise 06.9."""

from pathlib import Path

from peft import LoraConfig, PeftModel, get_peft_model

from course_utils.exercises.lesson_06 import saved_adapter
from course_utils.exercises.lesson_06.saved_adapter import load_for_training
from tests.answers import answers_of

right, wrong = answers_of(saved_adapter.ADAPTER)

CONFIG = LoraConfig(r=2, target_modules=["body.0"])


@right
def load_and_thaw(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_" in name)
    return model


@right
def load_under_another_name(base, folder):
    return PeftModel.from_pretrained(base, folder, adapter_name="mine", is_trainable=True)


@right
def load_in_evaluation_mode(base, folder):
    return load_for_training(base, folder).eval()


@wrong(caught_by=saved_adapter.runs_backward)
def load_as_it_was(base, folder):
    return PeftModel.from_pretrained(base, folder)


@wrong(caught_by=saved_adapter.runs_backward)
def load_in_training_mode(base, folder):
    return PeftModel.from_pretrained(base, folder).train()


@wrong(caught_by=saved_adapter.goes_on_from_what_was_saved)
def load_a_new_adapter(base, folder):
    return get_peft_model(base, CONFIG)


@wrong(caught_by=saved_adapter.base_stays_frozen)
def load_and_thaw_all(base, folder):
    return PeftModel.from_pretrained(base, folder).requires_grad_(True)


@wrong(caught_by=saved_adapter.every_matrix_learns)
def load_and_thaw_half(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_B" in name)
    return model


@wrong(caught_by=saved_adapter.base_stays_frozen)
def load_and_merge(base, folder):
    return PeftModel.from_pretrained(base, folder).merge_and_unload().requires_grad_(True)


@right
def load_and_activate(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    model.set_adapter("default")
    return model


@wrong(caught_by=saved_adapter.every_matrix_learns)
def load_and_thaw_the_first_layer(base, folder):
    model = PeftModel.from_pretrained(base, folder)
    for name, weight in model.named_parameters():
        weight.requires_grad_("lora_" in name and "body.0" in name)
    return model


@wrong(caught_by=saved_adapter.folder_stays_as_it_was)
def load_and_save_again(base, folder):
    model = load_for_training(base, folder)
    (Path(folder) / "trainable").touch()
    return model


@wrong(caught_by=saved_adapter.returns_a_model)
def load_and_return_its_name(base, folder):
    PeftModel.from_pretrained(base, folder, is_trainable=True)
    return folder


@wrong(caught_by=saved_adapter.returns_a_model)
def load_without_returning(base, folder):
    PeftModel.from_pretrained(base, folder, is_trainable=True)
