"""Work on several machines: Ray launches it, files are what it leaves.

    with Fleet("auto", "komadori.generate.cluster_games:TeacherWorker", job) as fleet:
        fleet.add([1, 2, 3])
        while fleet.waiting:
            for item, result in fleet.take(0.5): ...

Needs the extra `cluster`. Every machine sees the same folders under the same names.
"""

from komadori.cluster.fleet import ClusterError, Fleet, Worker

__all__ = ["ClusterError", "Fleet", "Worker"]
