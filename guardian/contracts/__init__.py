"""The wire contract: what Guardian reads from Kafka and files, and what it writes.

`wire` holds the models of the events, `outcome` those of what Guardian publishes, `envelope` opens CloudEvents,
`admission` judges by settings and clock, `translate` maps between wire and core, `codec` puts them together, `reason`
lists why an input is refused, `schema` generates what stands under `topics/`.
"""
