"""The worker: Faust as the shell, aiokafka as the data plane, batches through the pipeline, dead letters. Bytes only."""
