"""Which names of pasted code stand for probabilities, which for their logarithms, and which
models return one of them."""

import ast
import re
from dataclasses import dataclass, field

from course_utils.explain.paste.code import name_of

LOSS_CLASSES = {
    "KLDivLoss": "kl_div",
    "NLLLoss": "nll_loss",
    "CrossEntropyLoss": "cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
_MAKE = {"softmax": "p", "Softmax": "p", "sigmoid": "p", "softmin": "p", "exp": "p"}
_MAKE |= {"Sigmoid": "p", "Softmin": "p"}
_MAKE |= {"log_softmax": "log", "LogSoftmax": "log", "logsigmoid": "log", "log": "log"}
_KEEP = {"float", "double", "to", "clamp", "clamp_min", "view", "reshape", "detach", "contiguous"}
_KEEP |= {"squeeze", "unsqueeze", "flatten", "transpose", "permute", "type", "half", "bfloat16"}
_KEEP |= {"gather", "clone", "cuda", "cpu"}


_CONTAINERS = {"Sequential", "ModuleList"}
_USUAL_MODEL = re.compile(r"(?:\w*_)?(?:model|net|network|classifier|clf)|self|forward")
_IN_ONE_MODE = re.compile(r"training|infer|predict|prob|eval|logits", re.IGNORECASE)


@dataclass
class Known:
    """Which names stand for probabilities or logarithms, and which for a loss."""

    kinds: dict[str, str] = field(default_factory=dict)
    losses: dict[str, ast.Call] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)  # modules, by what a call of them gives
    classes: dict[str, str] = field(default_factory=dict)  # of models, by what forward returns
    _within: str = ""  # the class that the statements stand in
    _in_forward: bool = False
    _by_mode: bool = False  # what forward returns depends on how it is used

    def enter(self, statement: ast.stmt) -> None:
        """Take the head of a class or function, and what a forward returns."""
        if isinstance(statement, ast.ClassDef):
            self._within = statement.name
        elif isinstance(statement, ast.FunctionDef):
            self._in_forward = statement.name in ("forward", "call", "__call__")
            self._by_mode = False
        elif isinstance(statement, ast.If) and _IN_ONE_MODE.search(ast.unparse(statement.test)):
            self._by_mode = True
        elif isinstance(statement, ast.Return) and self._in_forward and statement.value:
            self._take_returned(statement.value)

    def _take_returned(self, value: ast.expr) -> None:
        if isinstance(value, ast.Tuple) and value.elts:
            value = value.elts[0]
        kind = "other" if self._by_mode else self.kind(value) or "other"
        is_other = self.classes.get(self._within, kind) != kind
        self.classes[self._within] = "other" if is_other else kind

    def learn(self, target: ast.expr, value: ast.expr) -> None:
        name = name_of(target)
        if isinstance(value, ast.Call) and name_of(value.func) in LOSS_CLASSES:
            self.losses[name] = value
        elif name and (made := self._layer(value)):
            self.layers[name] = made
        elif name:
            self.layers.pop(name, None)
            self.kinds[name] = self.kind(value) or "other"

    def _layer(self, value: ast.AST) -> str:
        """What a call of this module gives; "" for what is no module that the paste shows."""
        if not isinstance(value, ast.Call):
            return ""
        made = name_of(value.func)
        if made in self.classes:
            return self.classes[made]
        if made in _KEEP and isinstance(value.func, ast.Attribute):  # Net().to(device)
            return self._layer(value.func.value)
        if made in _CONTAINERS:
            parts = [self._layer(one) or "other" for one in value.args]
            return parts[-1] if parts else ""
        is_module = made[:1].isupper() and made in _MAKE
        return _MAKE[made] if is_module else ""

    def _of_model(self, call: ast.Call) -> str:
        """What a call of a model gives: of one that the paste makes, or of the only one there."""
        name = name_of(call.func)
        if name in self.layers:
            return self.layers[name]
        usual = _USUAL_MODEL.fullmatch(name) and len(self.classes) == 1
        return next(iter(self.classes.values())) if usual else ""

    def kind(self, node: ast.AST) -> str:
        """ "p" of probabilities, "log" of their logarithms, "" where nothing tells."""
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, "")
        if isinstance(node, ast.Subscript):
            return self.kind(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            return self.kind(node.left)  # an eps is added
        if not isinstance(node, ast.Call):
            return ""
        made = name_of(node.func)
        if isinstance(node.func, ast.Call):  # nn.Softmax(dim=-1)(x)
            made = name_of(node.func.func)
        if made in _KEEP and isinstance(node.func, ast.Attribute):
            is_function = name_of(node.func.value) == "torch" and node.args
            return self.kind(node.args[0] if is_function else node.func.value)
        return _MAKE.get(made, "") or self._of_model(node)
