"""Which names of pasted code stand for probabilities, which for their logarithms."""

import ast
from dataclasses import dataclass, field

from course_utils.explain.paste.code import name_of

LOSS_CLASSES = {
    "KLDivLoss": "kl_div",
    "NLLLoss": "nll_loss",
    "CrossEntropyLoss": "cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
_MAKE = {"softmax": "p", "Softmax": "p", "sigmoid": "p", "softmin": "p", "exp": "p"}
_MAKE |= {"log_softmax": "log", "LogSoftmax": "log", "logsigmoid": "log", "log": "log"}
_KEEP = {"float", "double", "to", "clamp", "clamp_min", "view", "reshape", "detach", "contiguous"}
_KEEP |= {"squeeze", "unsqueeze", "flatten", "transpose", "permute", "type", "half", "bfloat16"}
_KEEP |= {"gather", "clone", "cuda", "cpu"}


@dataclass
class Known:
    """Which names stand for probabilities or logarithms, and which for a loss."""

    kinds: dict[str, str] = field(default_factory=dict)
    losses: dict[str, ast.Call] = field(default_factory=dict)

    def learn(self, target: ast.expr, value: ast.expr) -> None:
        name = name_of(target)
        if isinstance(value, ast.Call) and name_of(value.func) in LOSS_CLASSES:
            self.losses[name] = value
        elif name:
            self.kinds[name] = self.kind(value) or "other"

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
        return _MAKE.get(made, "")
