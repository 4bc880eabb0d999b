"""A notebook that is executed is saved every few seconds, and whenever it ends."""

from datetime import datetime, timedelta

import pytest
from papermill.engines import NBClientEngine, NotebookExecutionManager

from course_utils.notebook.child import SAVED_EVERY_S, SeldomSaved


class Manager(NotebookExecutionManager):
    """Its clock stands still but where `after` moves it; `saved` has the seconds of each save."""

    def __init__(self):
        self.at, self.saved = 0.0, []
        super().__init__(None, progress_bar=False)

    def now(self):
        return datetime(2026, 1, 1) + timedelta(seconds=self.at)

    def save(self, **_):
        self.saved.append(self.at)
        self.last_save_time = self.now()

    def after(self, seconds):
        self.at += seconds
        self.save()


@pytest.mark.parametrize("ends", [None, KeyboardInterrupt])
def test_it_is_saved_when_it_is_due_and_at_its_end(monkeypatch, ends):
    def execute(_cls, manager, *_arguments, **_options):
        for _ in range(4):
            manager.after(SAVED_EVERY_S / 2)
        if ends:
            raise ends

    monkeypatch.setattr(NBClientEngine, "execute_managed_notebook", classmethod(execute))
    manager = Manager()
    if ends:
        with pytest.raises(ends):
            SeldomSaved.execute_managed_notebook(manager, "python3")
    else:
        SeldomSaved.execute_managed_notebook(manager, "python3")
    assert manager.saved == [1.5 * SAVED_EVERY_S]
    manager.save()  # papermill's last one, however it ended
    assert manager.saved == [1.5 * SAVED_EVERY_S, 2 * SAVED_EVERY_S]
