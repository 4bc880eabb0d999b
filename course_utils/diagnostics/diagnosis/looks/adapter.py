"""Looks at what the adapter is on: experts without one, a new head that it does not save."""

from typing import Any

from torch import nn

from course_utils.causes.harms import SERVING
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, head_of
from course_utils.diagnostics.reach import adapter_reach
from course_utils.diagnostics.reach.groups import EXPERTS

HEADS = ("score", "classifier", "qa_outputs", "v_head")
OF_LABELS = {Loss.ROWS, Loss.TAGS, Loss.SPANS}  # losses of a library's class that has such a head


def look_at_adapter(subject: Subject, sheet: Sheet) -> None:
    for look in (_experts, _head, _untied):
        with sheet.trying("the adapter"):
            look(subject, sheet)


def _head(subject: Subject, sheet: Sheet) -> None:
    """A head that the base checkpoint lacks is random; if frozen, no adapter file has it.

    The configuration names the class that was saved; one with another head gave none to load.
    """
    base = getattr(subject.model, "get_base_model", lambda: None)()
    saved = getattr(getattr(base, "config", None), "architectures", None)
    if base is None or (_is_saved(base, saved) if saved else not subject.is_drawn):
        return
    named = list(subject.model.named_parameters())
    head = [(n, p) for n, p in named if set(n.split(".")[:-1]) & set(HEADS)]
    if not head or any(p.requires_grad for _, p in head):
        return
    name, task = head[0][0], getattr(subject.model.active_peft_config, "task_type", None)
    part = next(part for part in name.split(".") if part in HEADS)
    origin = f"was saved as {saved[0]}" if saved else "comes from no checkpoint"
    sheet.find(
        "head_is_new",
        COUNTED,
        f"the base {origin}, and {type(base).__name__} draws {part} at random",
        f"{part} requires no gradient, and is not in modules_to_save; task_type is {task}",
        place=f"task_type, {name}",
        why=f"the head {part} is new, frozen, and not saved with the adapter: each load draws "
        "another one",
        advice=f"modules_to_save=['{part}'] in LoraConfig, which task_type='SEQ_CLS' sets as well",
    )


def _is_saved(base: nn.Module, saved: list[str]) -> bool:
    """Whether the head is that of the saved class: it is the base's own, or one that it extends.

    Who extends a language model with a head has added it.
    """
    own, *extended = (kind.__name__ for kind in type(base).__mro__)
    return own in saved or (head_of(base) in OF_LABELS and bool(set(extended) & set(saved)))


def _untied(subject: Subject, sheet: Sheet) -> None:
    """A head or embedding that trains as a copy, where the configuration ties the two."""
    base = getattr(subject.model, "get_base_model", lambda: None)()
    config = getattr(base, "config", None)
    config = getattr(config, "get_text_config", lambda: config)()
    if not getattr(config, "tie_word_embeddings", False):
        return
    layers = {"embedding": base.get_input_embeddings(), "head": base.get_output_embeddings()}
    if layers["head"] is None:
        return  # a classifier, say: nothing is tied to its embedding
    copies = {what: _trained_copy(layer) for what, layer in layers.items() if layer is not None}
    trained = {what: copy for what, copy in copies.items() if copy is not None}
    if not trained or (len(trained) == 2 and trained["embedding"] is trained["head"]):
        return
    what = " and ".join(sorted(trained))
    sheet.find(
        "tie_broken",
        LIKELY - 0.5,  # what it will cost is later: a cause that the run itself shows comes first
        f"tie_word_embeddings is True, and modules_to_save trains a copy of the {what}",
        place="modules_to_save, tie_word_embeddings",
        why=f"the {what} trains as a copy, while the configuration says that head and embedding "
        "are one tensor: merged, saved and loaded by it, the trained copy of the head is lost",
        advice="ensure_weight_tying=True with both modules in modules_to_save; or save the merged "
        "model with tie_word_embeddings=False",
        where=SERVING,
    )


def _trained_copy(layer: Any) -> Any:
    """The weight of the copy that modules_to_save trains of this layer; None if there is none."""
    copies = getattr(layer, "modules_to_save", None)
    own = list(copies.values())[:1] if copies else []
    weight = getattr(own[0], "weight", None) if own else None
    return weight if weight is not None and weight.requires_grad else None


def _experts(subject: Subject, sheet: Sheet) -> None:
    """Judge an adapter on a mixture of experts; whoever named attention alone has chosen it."""
    reach = adapter_reach(subject.model)
    experts = reach.groups.get(EXPERTS)
    if not reach.has_adapter or experts is None:
        return
    counted = f"{experts.num_adapted} of {experts.num_matrices} matrices of the experts have one"
    if not reach.misses_experts:
        sheet.clear("adapter", counted)
        return
    if not reach.means_experts:
        sheet.show("adapter", reach.headline)
        return
    sheet.find(
        "experts_without_adapter",
        MEASURED,
        counted,
        f"the experts are {experts.share:.0%} of the weights",
        place=reach.out_of_reach[0],
        advice=reach.fix,
    )
