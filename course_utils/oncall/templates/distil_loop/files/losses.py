"""What the student is trained on: the teacher's distribution, and a little of the answer."""

import torch
import torch.nn.functional as F


def divergence(student_logits, teacher_logits, temperature):
    """KL(teacher || student) of each position, both softened, times the squared temperature."""
    student = F.log_softmax(student_logits / temperature, dim=-1)
    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)
    each = F.kl_div(student, teacher, log_target=True, reduction="none").sum(-1)
    return each * temperature**2


def of_answers(logits, batch):
    """Cross-entropy of each position with the token that follows."""
    following = torch.roll(batch["input_ids"], -1, dims=1)
    return F.cross_entropy(logits.transpose(1, 2), following, reduction="none")


def mean_over_reply(values, batch):
    """The mean over the positions that predict a token of a reply."""
    predicts = batch["predicts"]
    return (values * predicts).sum() / predicts.sum()
