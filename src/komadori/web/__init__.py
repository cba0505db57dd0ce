"""`komadori web`: the server of the browser interface.

page -> WebSocket (`protocol`) -> session -> search, analysis, players, with a shared network

The pages themselves are built from `web/` into `static/`.
"""
