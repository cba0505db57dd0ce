"""USI: the engine's server, a client for other engines, adapters for engines with quirks.

- `protocol`: parsing and formatting of lines, pure functions.
- `engine`: the server that a GUI talks to, independent of the searcher.
- `client`: runs another USI engine as a subprocess.
- `adapters`: engines that don't follow plain USI.

Importing the package loads none of them, so that the handshake is fast.
"""
