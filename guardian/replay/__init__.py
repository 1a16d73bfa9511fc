"""Replay: the logs and exports that agents kept, through the same pipeline as the stream, or onto the canonical topic.

An interrupted replay goes on where it was: with every batch the account of what is done is kept in a checkpoint beside the
state. Doing items twice changes nothing, so the checkpoint saves time and keeps the figures whole, and no more.
"""

from guardian.replay.account import ReplaySummary
from guardian.replay.checkpoint import Checkpoint, Saved
from guardian.replay.decoding import Terms, read_event_bytes
from guardian.replay.job import Forward, Replay
from guardian.replay.rehearsal import Rehearsal
from guardian.replay.selection import Selection

__all__ = ["Checkpoint", "Forward", "Rehearsal", "Replay", "ReplaySummary", "Saved", "Selection", "Terms", "read_event_bytes"]
