"""Throughput of a game folder: journals, duplicate removal, compression.

    python bench/game_folder.py [--games 4000]

Adds copies of the bundled games, with unique numbers and digests, to a folder, as the head node of
a cluster does with its workers' games. Prints plies per second of CPU time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from komadori import records
from komadori.generate import GameFolder
from komadori.generate.folder import StoredFacts, StoredGame, read_journal
from komadori.records.table import table_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=4000)
    count = parser.parse_args().games
    sample = records.read_games(records.sample_path())[:500]
    content = [(bytes(table_of([game]).hcpe3(0)), len(game)) for game in sample]
    games = []
    for number in range(count):
        hcpe3, plies = content[number % len(content)]
        facts = StoredFacts(number, number + 1, 1, 2, 3, plies, plies, 0, 0, 1500 * plies)
        games.append(StoredGame(facts, hcpe3, b""))
    plies = sum(game.facts.plies for game in games)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with GameFolder(folder / "journals", {}, count + 1) as out:
            start = time.process_time()
            out.add(games)
            writing = time.process_time() - start
        (journal,) = (folder / "journals").glob("*.journal")
        size = journal.stat().st_size
        start = time.process_time()
        read_journal(journal)
        reading = time.process_time() - start
        with GameFolder(folder / "segments", {}, 1000) as out:
            start = time.process_time()
            out.add(games)
            segments = time.process_time() - start
    print(
        f"{count:,} games, {plies:,} plies, {size / plies:.1f} bytes per ply in journals; plies "
        f"per second of CPU time: journals written {plies / writing:,.0f}, read "
        f"{plies / reading:,.0f}, segments (journal, duplicates, xz) {plies / segments:,.0f}"
    )


if __name__ == "__main__":
    main()
