"""The broker: clients of Kafka, and the small broker that can be carried along."""
