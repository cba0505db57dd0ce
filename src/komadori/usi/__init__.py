"""USI: the server of the protocol, a client for other engines, adapters for engines with quirks.

- `protocol`: lines as values, pure functions.
- `engine`: the server that a GUI talks to; a searcher is given to it.
- `client`: another USI engine as a subprocess.
- `adapters`: engines that aren't plain USI.

Importing the package loads none of them: the handshake must be quick.
"""
