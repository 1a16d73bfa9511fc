"""The state: one protocol (`guardian.ports.Store`), three implementations.

`memory` is the twin for tests and dry runs, `edge` the embedded engine that needs no server, `qdrant` a Qdrant server.
`layout` says how payloads lie and are looked up, `check` what may be written, `identity` what a store was made for.
"""
