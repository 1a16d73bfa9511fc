"""Laws of what is answered: each record bears its own name in the prompt."""

from __future__ import annotations

from guardian.cli.context import build_table
from guardian.read import Calibrator, Task
from guardian.serve.answer import build_context
from tests import builders as build
from tests.property.bank import Bank


async def test_each_revision_has_its_own_handle() -> None:
    """A question about history is shown several revisions of one memory, over the service and on the screen."""
    bank = Bank()
    await bank.send(*(build.written("m", f"Kiln 4 fires at {900 + number}", src="tool", t=number) for number in range(3)))
    task = Task(requires_objective_fact=True, is_history=True)
    admission = await Calibrator(bank.store).context("kiln 4 fires at", task, space="s")
    answer = build_context(admission)
    texts = {record.handle: record.text for records in answer.records.values() for record in records}
    assert (texts["E1"], len(texts), None in texts) == ("Kiln 4 fires at 902", 3, False)
    assert sorted(map(str, build_table(admission).columns[0].cells)) == sorted(map(str, texts))
    assert admission.prompt.records.keys() == admission.prompt.handles.keys()
