"""Checkpoints that several processes write: one file each, loaded however the state is shared out then."""

import importlib
import os
import sys
from pathlib import Path

import pytest

import torchlite

from .ranks import run, start
from .test_fsdp import model, sharded

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes work together on POSIX systems only")


def home(torch):
    return importlib.import_module(f"{torch.__name__}.distributed.checkpoint")


def trained(torch, made, steps=2, rate=0.1):
    optimizer = torch.optim.Adam(made.parameters(), lr=rate)
    further(torch, made, optimizer, steps)
    return optimizer


def further(torch, made, optimizer, steps):
    for step in range(steps):
        optimizer.zero_grad()
        made(torch.full((2, 3), 0.5 + step)).square().sum().backward()
        optimizer.step()


def saved(torch, tell):
    dist, checkpoint = start(torch), home(torch)
    states = importlib.import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
    made = sharded(torch)
    optimizer = trained(torch, made)
    kept, of_optimizer = states.get_state_dict(made, optimizer)
    whole = {**made.state_dict()}
    folder = os.environ["CHECKPOINT"]
    checkpoint.save({"model": kept, "optimizer": of_optimizer, "epoch": 7}, checkpoint_id=folder)
    for original in (False, True):
        again = sharded(torch, use_orig_params=original)
        with torch.no_grad():
            for param in again.parameters():
                param.zero_()
        other = torch.optim.Adam(again.parameters(), lr=0.3)
        into, into_optimizer = states.get_state_dict(again, other)
        state = {"model": into, "optimizer": into_optimizer, "epoch": 0}
        checkpoint.load(state, checkpoint_id=folder)
        states.set_state_dict(
            again, other, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        assert state["epoch"] == 7 and other.param_groups[0]["lr"] == 0.1
        for name, value in again.state_dict().items():
            assert torch.equal(value, whole[name]), name
        further(torch, again, other, 2)
        tell([value.tolist() for value in again.state_dict().values()])
    further(torch, made, optimizer, 2)
    tell([value.tolist() for value in made.state_dict().values()])
    future = checkpoint.async_save({"model": made.state_dict()}, checkpoint_id=f"{folder}/later")
    future.result()
    dist.destroy_process_group()


def test_a_state_is_loaded_by_fewer_processes_than_saved_it(tmp_path):
    told = run("torchlite", saved, CHECKPOINT=str(tmp_path))
    for ours in told:
        assert ours[0] == ours[1] == ours[2]
    assert len(list(tmp_path.glob("__*.distcp"))) == 2
    checkpoint = home(torchlite)
    alone = model(torchlite)
    state = {"model": alone.state_dict()}
    checkpoint.load(state, checkpoint_id=tmp_path)
    optimizer = torchlite.optim.Adam(alone.parameters(), lr=0.1)
    states = importlib.import_module("torchlite.distributed.checkpoint.state_dict")
    whole = {"optimizer": states.get_optimizer_state_dict(alone, optimizer)}
    checkpoint.load(whole, checkpoint_id=tmp_path)
    states.set_optimizer_state_dict(alone, optimizer, whole["optimizer"])
    further(torchlite, alone, optimizer, 2)
    assert str([value.tolist() for value in alone.state_dict().values()])[:40] == told[0][0][:40]


def test_a_checkpoint_is_whole_or_not_there(tmp_path, monkeypatch):
    checkpoint = home(torchlite)
    folder = tmp_path / "steps"
    first, second = {"w": torchlite.ones(3), "n": {"step": 1}}, {"w": torchlite.zeros(3), "n": {"step": 2}}
    checkpoint.save(first, checkpoint_id=folder)

    def crash(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(checkpoint.CheckpointException, match="the disk is full"):
        checkpoint.save(second, checkpoint_id=folder)
    monkeypatch.undo()
    found = {"w": torchlite.full((3,), 5.0), "n": {"step": 0}}
    checkpoint.load(found, checkpoint_id=folder)
    assert found["w"].tolist() == [1, 1, 1] and found["n"]["step"] == 1
    checkpoint.save(second, checkpoint_id=folder)
    assert len(list(folder.glob("__*.distcp"))) == 1
    checkpoint.load(found, checkpoint_id=folder)
    assert found["w"].tolist() == [0, 0, 0] and found["n"]["step"] == 2
    (folder / ".metadata").unlink()
    with pytest.raises(checkpoint.CheckpointException, match="metadata"):
        checkpoint.load(found, checkpoint_id=folder)


def test_what_does_not_fit_is_refused(tmp_path):
    checkpoint = home(torchlite)
    checkpoint.save({"w": torchlite.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: v"):
        checkpoint.load({"v": torchlite.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(checkpoint.CheckpointException, match="Size mismatch between saved"):
        checkpoint.load({"w": torchlite.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(NotImplementedError, match="planners"):
        checkpoint.save({"w": torchlite.ones(3)}, checkpoint_id=tmp_path, planner=object())
    states = importlib.import_module("torchlite.distributed.checkpoint.state_dict")
    with pytest.raises(NotImplementedError, match="broadcast_from_rank0"):
        states.get_model_state_dict(model(torchlite), options=states.StateDictOptions(broadcast_from_rank0=True))
    later = checkpoint.async_save({"w": torchlite.zeros(3)}, checkpoint_id=tmp_path / "later")
    assert later.result().state_dict_metadata["w"].size == [3]
