from course_utils.diagnostics import diagnose


def look(model, tokenizer, train_dataloader):
    ids, mask, learnt = (part.squeeze(1) for part in next(iter(train_dataloader)))
    labels = ids.masked_fill(~learnt.bool(), -100)
    batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    print(diagnose(model.model, batch=batch, tokenizer=tokenizer))
