"""Distributed work: Ray starts workers on several machines, which write to shared folders.

    with Fleet("auto", "komadori.generate.cluster_games:TeacherWorker", job) as fleet:
        fleet.add([1, 2, 3])
        while fleet.waiting:
            for item, result in fleet.take(0.5): ...

Needs the extra `cluster`. Every machine must see the same folders under the same paths.
"""

from komadori.cluster.fleet import ClusterError, Fleet, Worker

__all__ = ["ClusterError", "Fleet", "Worker"]
