"""Optional model stages on top of a context: reflection over what is admitted, and reasoning whose every span is checked.

What the model says is checked by pure code (`check`) against what was rendered; no model judges a model here.
"""
