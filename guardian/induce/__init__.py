"""Cards by a model: induced off the hot path, narrower than the rules' permission or not at all."""
