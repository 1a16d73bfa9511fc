"""The read side: what a store knows, for an agent, a person or a program.

```python
memory = Calibrator(store, ReadPolicy(limit=8))
admission = await memory.context("What do beans cost?", Task(requires_objective_fact=True), space="coffee-shop")
```
"""

from guardian.read.admission.decision import Reason, Role
from guardian.read.admission.policy import ReadPolicy, WhenUnverified
from guardian.read.admission.task import Classification, Task, TaskClassifier
from guardian.read.calibrator import Admission, Calibrator, SyncCalibrator
from guardian.read.ledger.file import LedgerFile

__all__ = [
    "Admission",
    "Calibrator",
    "Classification",
    "LedgerFile",
    "ReadPolicy",
    "Reason",
    "Role",
    "SyncCalibrator",
    "Task",
    "TaskClassifier",
    "WhenUnverified",
]
