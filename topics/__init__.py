"""Declared topics (one YAML file each) and the generated schemas of what they carry; read by `guardian.topics`."""
