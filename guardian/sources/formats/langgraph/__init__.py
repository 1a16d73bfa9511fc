"""The store of LangGraph, and LangMem's memories in it: databases, dumps, API answers, and changes as they happen."""
