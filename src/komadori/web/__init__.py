"""`komadori web`: the server behind the pages in the browser.

page -> WebSocket (`protocol`) -> session -> search, analysis, players, all over one network

The pages themselves are built from `web/` into `static/`.
"""
