"""USI: the engine's front, a client for other engines, and adapters for those with manners.

- `protocol`: lines as values, pure functions.
- `engine`: the front a GUI talks to; a searcher is given to it.
- `client`: another USI engine as a subprocess.
- `adapters`: engines that aren't plain USI.

Importing the package loads none of them: the handshake must be quick.
"""
