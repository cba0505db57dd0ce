import threading

import pytest
import torch
from training_toys import ToyEncoder, make_config, make_samples

from komadori import nets, training
from komadori.training import Loader, Part
from komadori.training.workers import Replicas, Workers


@pytest.fixture
def batch():
    return next(Loader(Part.whole(make_samples(50)), ToyEncoder(), 50).batches())


def test_parts_are_the_batch_in_order(batch):
    before = torch.get_num_threads()
    workers = Workers(3, 1)
    names = set()

    def look(index, shard):
        names.add(threading.current_thread().name)
        assert torch.get_num_threads() == 1
        assert len(shard.targets.label) == len(shard.inputs[0]) == len(shard)
        return index, shard.rows.tolist()

    found = workers.map(look, batch)
    assert [index for index, _ in found] == [0, 1, 2]
    assert [row for _, rows in found for row in rows] == batch.rows.tolist()
    assert threading.current_thread().name not in names
    assert len(workers.map(look, batch.part(0, 17))) == 2  # parts of at least 8
    assert workers.map(lambda i, shard: len(shard), batch.part(0, 5)) == [5]
    with pytest.raises(ZeroDivisionError):
        workers.map(lambda i, shard: 1 / 0, batch)
    workers.close()
    assert torch.get_num_threads() == before


def test_replicas_share_weights_and_add_gradients():
    torch.manual_seed(0)
    net = nets.build("resnet0x4", ToyEncoder.interface).eval()
    replicas = Replicas(net, 3)
    boards = torch.randn(6, 4, 9, 9), torch.randn(6, 2, 9, 9)
    for i, network in enumerate(replicas.networks):
        rows = slice(2 * i, 2 * i + 2)
        policy, value = network(*(b[rows] for b in boards))
        (policy.square().sum() + value.sum()).backward()
    replicas.gather()
    found = [p.grad for p in net.parameters()]
    net.zero_grad()
    policy, value = net(*boards)
    (policy.square().sum() + value.sum()).backward()
    for a, p in zip(found, net.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad, rtol=1e-5, atol=1e-4)  # another summation order
    assert all(p.grad is None for n in replicas.networks[1:] for p in n.parameters())
    with torch.no_grad():
        for p in net.parameters():
            p.add_(1)
    for other in replicas.networks[1:]:
        for p, q in zip(net.parameters(), other.parameters(), strict=True):
            assert torch.equal(p, q)


def test_a_run_with_replicas_learns_and_repeats(tmp_path):
    torch.set_num_threads(2)
    try:
        device = {"threads": 2, "replicas": 2}
        config = make_config(loop={"max_steps": 30}, device=device)
        runs = [
            training.train(config, make_samples(600), None, tmp_path / name, encoder=ToyEncoder())
            for name in ("a", "b")
        ]
    finally:
        torch.set_num_threads(1)
    losses = [[e["loss"] for e in r.history if e["kind"] == "train"] for r in runs]
    assert losses[0] == losses[1]
    assert losses[0][-1] < 0.8 * losses[0][0]
    assert runs[0].history[0]["threads"] == "2 x 1"
