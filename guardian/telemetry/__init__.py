"""What operators see: one chain of log records and one table of metrics."""
