"""The trusted learner: it owns the records, answers people over HTTP, and never overspends.

Every route is one library call behind three questions: who asks, was this asked before, and which account pays. Nothing
in here draws noise, prices, cleans or adds up by itself. `tacit serve` starts it; `create_app` in `app` makes it.
"""
