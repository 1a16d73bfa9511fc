"""The forms of mem0's memory beside its history database: collections, API answers, exports, and mem0's other programs."""
