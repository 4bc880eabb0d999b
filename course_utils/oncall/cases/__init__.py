"""Cases: a module each, with one `CASE`. A ticket is drawn from those in `proved.json` alone.

To add one:

1. Take an incident of `course_utils/incidents/broken` (docs/failures.md lists those without a
   ticket) or a thread, and one of the templates in `course_utils/oncall/templates`. Read its
   `files/`: that is the healthy run. Nothing is planted in its `TEMPLATE.sizes`. Where the failure
   is the incident's, or another ticket's, `Fault(like=NAME, plant=...)` takes title, kind, cause,
   fix and threads from there. Give here what is not the same, such as a fix in these files.
2. Write `cases/NAME.py`, with NAME as its id. NAME says what is wrong; readers never see it.
   `plant` replaces text of train.py, config.yaml or a helper (`Edit`, which must match exactly
   once), rows of the data (`EditRows`), tensors of a checkpoint that an earlier job handed over
   (`EditTensors`), or its settings or a tokenizer (`EditJson`), the way people really do it. Such
   a file can be put right from what the folder holds: the judge takes no other values. No comment
   in the new text may give it away, and planted code must read as a colleague's. Of several
   edits each is also undone alone, which must fail, unless `enough` names it. Level 2: the
   symptom shows far from the place (another file, another stage, another metric). Level 3: three
   faults in `faults`, in the order in which they come to light; each hides the next, and fixing
   any one or two must not pass.
3. `ticket`: two to four sentences of a colleague who noticed something, from the effect only. It
   may mislead; it names no cause, no file, no key of `causes/kinds.py`, and none of the words of
   other tickets of its class: `pytest tests/oncall -k "words or NAME"` checks it.
4. `non_fixes`, two or more: what people try that does not help, beside those of
   `attacks.STANDARD`, which are tried on every case (a lower rate, another seed, fewer steps, a
   harder clip, the exception caught, the healthy twin's log). `spares` names those that do fix
   this very case.
5. Prove it, on three seeds:

       python -m course_utils.oncall.prove NAME

   Broken must fail, the fix (the template as it is) must pass, and everything else must fail. A
   fault that the template's metrics do not see is no case: choose another place, or a template
   whose metrics see it. `--seeds 0` (a minute) is enough while you try. `make oncall failures`
   then trains what changed since the kept proofs, and writes `proved.json`, the benchmark's
   `proofs.json`, docs/oncall.md and docs/failures.md: commit them all.
6. Where a report names the place, the planted lines (and three around them), the functions around
   them and the names in them are taken; `also_places` adds what else is right ("data.py collate").
   `also_kinds` adds other classes that a good report may give.
"""

import importlib
import json
import pkgutil
from pathlib import Path

from course_utils.oncall import odd_but_fine
from course_utils.oncall.declare import Case

PROVED = Path(__file__).parents[1] / "proved.json"


def names() -> list[str]:
    """Their ids, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def proved() -> dict[str, str]:
    """Those that held on three seeds, each with a mark of what was trained."""
    return json.loads(PROVED.read_text(encoding="utf-8"))


def load(name: str) -> Case:
    """The case of that id, which may be a healthy one."""
    return odd_but_fine.load(name) or importlib.import_module(f"{__name__}.{name}").CASE
