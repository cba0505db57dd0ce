"""A CSA server for tests: pairs two logins, referees and keeps the clock."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time

from komadori.arena.game import Conditions, judge
from komadori.rules import Board

POSITION = """\
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+"""


class Seat:
    """One logged-in client."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.reader = connection.makefile("r", newline="\n")
        self.name = ""
        self.blank_lines = 0

    def send(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall((text + "\n").encode())

    def read(self) -> str:
        while True:
            line = self.reader.readline()
            if not line:
                raise ConnectionError
            if line.strip():
                return line.strip()
            self.blank_lines += 1

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.reader.close()
        self.connection.close()


class CsaServer:
    """Listens on a free port; `drops` connections are cut after the login."""

    def __init__(
        self,
        moves: tuple[str, ...] = (),
        max_moves: int = 60,
        drops: int = 0,
        times: str = "Time_Unit:1sec\nTotal_Time:60\nByoyomi:0\nIncrement:2",
        tells_max_moves: bool = True,
        ends_at_mate: bool = True,
    ) -> None:
        self.told_max_moves = max_moves if tells_max_moves else 0
        self.ends_at_mate = ends_at_mate
        self.moves, self.max_moves, self.drops, self.times = moves, max_moves, drops, times
        self.log: list[str] = []
        self.blank_lines = 0
        self.logins = 0
        self.games = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._waiting: list[Seat] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                seat = Seat(self._socket.accept()[0])
                threading.Thread(target=self._welcome, args=(seat,), daemon=True).start()

    def _welcome(self, seat: Seat) -> None:
        match = re.fullmatch(r"LOGIN (\S+) (\S+)", seat.read())
        if match is None or match[2] == "wrong":
            seat.send("LOGIN:incorrect")
            seat.close()
            return
        self.logins += 1
        seat.name = match[1]
        seat.send(f"LOGIN:{seat.name} OK")
        if self.drops > 0:
            self.drops -= 1
            seat.close()
            return
        self._waiting.append(seat)
        if len(self._waiting) == 2:
            seats, self._waiting = self._waiting, []
            with contextlib.suppress(ConnectionError, OSError, ValueError):
                self._game(sorted(seats, key=lambda s: s.name, reverse=self.games % 2 == 1))

    def _game(self, seats: list[Seat]) -> None:
        self.games += 1
        for sign, seat in zip("+-", seats, strict=True):
            seat.send(
                f"BEGIN Game_Summary\nProtocol_Version:1.2\nGame_ID:test+{self.games}\n"
                f"Name+:{seats[0].name}\nName-:{seats[1].name}\nYour_Turn:{sign}\nTo_Move:+\n"
                f"Max_Moves:{self.told_max_moves}\nBEGIN Time\n{self.times}\nEND Time\n"
                f"BEGIN Position\n{POSITION}\n"
                + "".join(f"{move},T5\n" for move in self.moves)
                + "END Position\nEND Game_Summary"
            )
        board = Board()
        for move in self.moves:
            board.push(board.parse_csa(move))
        for seat in seats:
            assert seat.read().startswith("AGREE test+")
        self._tell(seats, f"START:test+{self.games}")
        while True:
            end = judge(board, Conditions(max_plies=self.max_moves, auto_declare=False))
            if end is not None and (self.ends_at_mate or end[1] != "checkmate"):
                winner, reason, _ = end
                word = {
                    "repetition": "SENNICHITE",
                    "perpetual_check": "OUTE_SENNICHITE",
                    "max_plies": "MAX_MOVES",
                    "checkmate": "ILLEGAL_MOVE",
                }[reason]
                return self._end(seats, word, {"black": 0, "white": 1}.get(winner))
            mover = seats[board.turn]
            started = time.monotonic()
            line = mover.read()
            spent = int(time.monotonic() - started)
            self.log.append(line)
            if line == "%TORYO":
                self._tell(seats, f"%TORYO,T{spent}")
                return self._end(seats, "RESIGN", 1 - board.turn)
            if line == "%KACHI":
                self._tell(seats, f"%KACHI,T{spent}")
                legal = board.can_declare_win()
                word = "JISHOGI" if legal else "ILLEGAL_MOVE"
                return self._end(seats, word, board.turn if legal else 1 - board.turn)
            try:
                move = board.parse_csa(line.partition(",")[0])
            except ValueError:
                return self._end(seats, "ILLEGAL_MOVE", 1 - board.turn)
            board.push(move)
            self._tell(seats, f"{line.partition(',')[0]},T{spent}")

    @staticmethod
    def _tell(seats: list[Seat], line: str) -> None:
        for seat in seats:
            seat.send(line)

    def _end(self, seats: list[Seat], word: str, winner: int | None) -> None:
        for side, seat in enumerate(seats):
            result = "DRAW" if winner is None else "WIN" if winner == side else "LOSE"
            seat.send(f"#{word}\n#{result}")
            self.blank_lines += seat.blank_lines
