from course_utils.diagnostics import diagnose


def look(model, tokenizer, train_dataloader):
    ids, mask, learnt = (part.squeeze(1) for part in next(iter(train_dataloader)))
    labels = ids.new_full(ids.shape, -100)
    labels[:, 1:] = ids[:, 1:].where(learnt[:, :-1].bool(), -100)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    print(diagnose(model.model, batch=batch, tokenizer=tokenizer))
