"""Checkpoints that several processes write: one file each, loaded however the state is shared out then."""

import ast
import importlib
import os
import signal
from pathlib import Path

import pytest

import torchlite

from ..side_by_side import same_story
from .ranks import ended, run, start
from .stories import near, plain
from .test_fsdp import model, sharded
from .test_fully_shard import sharded as fully_sharded

pytestmark = pytest.mark.filterwarnings("ignore")


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
    with pytest.raises(checkpoint.CheckpointException, match="overwrite=False"):
        checkpoint.save({"w": torchlite.ones(3)}, storage_writer=checkpoint.FileSystemWriter(tmp_path, overwrite=False))
    states = importlib.import_module("torchlite.distributed.checkpoint.state_dict")
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        states.get_model_state_dict(model(torchlite), options=states.StateDictOptions(broadcast_from_rank0=True))
    (tmp_path / ".metadata").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(checkpoint.CheckpointException, match="may not name os"):
        checkpoint.load({"w": torchlite.ones(3)}, checkpoint_id=tmp_path)
    later = checkpoint.async_save({"w": torchlite.zeros(3)}, checkpoint_id=tmp_path / "later")
    assert tuple(later.result().state_dict_metadata["w"].size) == (3,)


def shared_out(torch):
    """A model sharded by `fully_shard`, and its optimizer."""
    made = fully_sharded(torch)
    return made, trained(torch, made)


def states_of(torch, made, optimizer):
    states = importlib.import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
    kept, of_optimizer = states.get_state_dict(made, optimizer)
    more = {"epoch": 7, "list": [torch.ones(2), {"name": "x"}], "pair": (1, 2), "empty": {}}
    return {"model": kept, "optimizer": of_optimizer, **more}


def saving(torch, tell):
    dist = start(torch)
    home(torch).save(states_of(torch, *shared_out(torch)), checkpoint_id=os.environ["CHECKPOINT"])
    dist.destroy_process_group()


def loading(torch, tell):
    """What is in a checkpoint, loaded into other shards, or into whole tensors."""
    dist = start(torch)
    made = fully_sharded(torch) if dist.get_world_size() > 1 else model(torch)
    state = states_of(torch, made, torch.optim.Adam(made.parameters(), lr=0.3))
    with torch.no_grad():
        for param in made.parameters():
            param.zero_()
    home(torch).load(state, checkpoint_id=os.environ["CHECKPOINT"])
    kind = importlib.import_module(f"{torch.__name__}.distributed.tensor").DTensor
    tree = importlib.import_module(f"{torch.__name__}.utils._pytree")
    tell(plain(tree.tree_map(lambda each: each.full_tensor() if isinstance(each, kind) else each, state)))
    dist.destroy_process_group()


@pytest.mark.parametrize(("writer", "reader"), [("torch", "torchlite"), ("torchlite", "torch")])
def test_checkpoints_are_pytorchs(tmp_path, writer, reader):
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    run(writer, saving, CHECKPOINT=str(tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir()) == [".metadata", "__0_0.distcp", "__1_0.distcp"]
    told = [ast.literal_eval(run(lib, loading, 1, CHECKPOINT=str(tmp_path))[0][0]) for lib in (reader, writer)]
    assert near(*told)
    [[first], _, [third]] = run(reader, loading, 3, CHECKPOINT=str(tmp_path))
    assert near(ast.literal_eval(first), told[0]) and first == third


def laid_out(torch, numbers, *placements):
    """DTensors over a line of all processes, or over a square of them, by how each lies on it."""
    dist = start(torch)
    of = importlib.import_module(f"{torch.__name__}.distributed.tensor")
    where = {"rows": of.Shard(0), "columns": of.Shard(1), "whole": of.Replicate()}
    sizes = (dist.get_world_size(),) if len(placements[0].split()) == 1 else (2, dist.get_world_size() // 2)
    mesh = dist.init_device_mesh("cpu", sizes)
    whole = torch.arange(35.0).reshape(7, 5) * numbers
    return {
        str(number): of.distribute_tensor(whole + number * numbers, mesh, [where[word] for word in words.split()])
        for number, words in enumerate(placements)
    }


def saving_distributed(torch, tell):
    home(torch).save(laid_out(torch, 1, "rows", "columns", "whole"), checkpoint_id=os.environ["CHECKPOINT"])
    torch.distributed.destroy_process_group()


def loading_distributed(torch, tell):
    """Into tensors that lie otherwise than those that were saved."""
    for placements in (("columns", "whole", "rows"), ("rows columns", "whole rows", "columns rows")):
        state = laid_out(torch, 0, *placements)
        home(torch).load(state, checkpoint_id=os.environ["CHECKPOINT"])
        tell([each.to_local().tolist() for each in state.values()])
        tell([each.full_tensor().tolist() for each in state.values()])
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("writer", "writers", "reader", "readers"), [("torch", 2, "torchlite", 4), ("torchlite", 4, "torch", 2)]
)
def test_distributed_tensors_are_loaded_however_they_lie(tmp_path, writer, writers, reader, readers):
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    run(writer, saving_distributed, writers, CHECKPOINT=str(tmp_path))
    assert run(reader, loading_distributed, readers, CHECKPOINT=str(tmp_path)) == run(
        writer, loading_distributed, readers, CHECKPOINT=str(tmp_path)
    )


def saving_beside_one_that_dies(torch, tell):
    """A second state, whose first file's writer is killed."""
    checkpoint, (old, new) = home(torch), os.environ["CHECKPOINTS"].split(os.pathsep)
    state = laid_out(torch, 1, "rows")
    checkpoint.save(state, checkpoint_id=old)

    class Writer(checkpoint.FileSystemWriter):
        def write_data(self, *given):
            if torch.distributed.get_rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().write_data(*given)

    state["0"] = state["0"] * 2
    with pytest.raises((checkpoint.CheckpointException, torch.distributed.DistBackendError), match="rank 1"):
        checkpoint.save(state, storage_writer=Writer(new))


@pytest.mark.parametrize("new", ["new", "old"])
def test_of_a_checkpoint_whose_writer_died_nothing_is_taken(tmp_path, new):
    old, new = str(tmp_path / "old"), str(tmp_path / new)
    codes, told = ended("torchlite", saving_beside_one_that_dies, 2, CHECKPOINTS=old + os.pathsep + new)
    assert codes == [0, -signal.SIGKILL] and told == {0: {"told": []}}
    checkpoint, found = home(torchlite), {"0": torchlite.zeros(7, 5)}
    if new != old:
        with pytest.raises(checkpoint.CheckpointException, match="metadata"):
            checkpoint.load(found, checkpoint_id=new)
    checkpoint.load(found, checkpoint_id=old)
    assert found["0"].equal(torchlite.arange(35.0).reshape(7, 5))


def test_files_of_torch_save_become_checkpoints_and_back(tmp_path):
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    state = {"model": {"w": [1.0, 2.0]}, "steps": [3, {"rate": 0.1}], "name": "x"}
    for lib, other in (("torch", "torchlite"), ("torchlite", "torch")):
        ours, theirs = map(importlib.import_module, (lib, other))
        of = {each: importlib.import_module(f"{each}.distributed.checkpoint.format_utils") for each in (lib, other)}
        file, folder, back = tmp_path / f"{lib}.pt", tmp_path / lib, tmp_path / f"{lib}-back.pt"
        ours.save({**state, "model": {"w": ours.tensor([1.0, 2.0])}}, file)
        of[lib].torch_save_to_dcp(file, folder)
        of[other].dcp_to_torch_save(folder, back)
        assert plain(theirs.load(back, weights_only=False)) == plain(state)


@same_story
def test_states_of_parts_and_flat_states_of_optimizers(torch, tell):
    states = importlib.import_module(f"{torch.__name__}.distributed.checkpoint.state_dict")
    made = model(torch)
    made[0].weight.requires_grad_(False)
    groups = [{"params": list(made[2].parameters())}, {"params": list(made[3].parameters()), "lr": 0.3}]
    optimizer = torch.optim.Adam(groups, lr=0.1)
    further(torch, made, optimizer, 2)
    for options in ({}, {"flatten_optimizer_state_dict": True}, {"ignore_frozen_params": True}):
        chosen = states.StateDictOptions(**options)
        kept, of_optimizer = states.get_state_dict(made, optimizer, options=chosen)
        tell(sorted(kept), plain(sorted(of_optimizer.items())))
        again = model(torch)
        again[0].weight.requires_grad_(False)
        groups = [{"params": list(again[2].parameters())}, {"params": list(again[3].parameters()), "lr": 0.5}]
        other = torch.optim.Adam(groups, lr=0.2)
        states.set_optimizer_state_dict(again, other, of_optimizer, options=chosen)
        tell(plain(other.state_dict()))
    for keep in (True, False):
        chosen = states.StateDictOptions(keep_submodule_prefixes=keep)
        tell(plain(states.get_model_state_dict(made, submodules={made[2]}, options=chosen)))
    tell(plain(states.get_optimizer_state_dict(made, optimizer, submodules={made[2]})))


def test_planners_say_what_is_written_and_read(tmp_path):
    checkpoint = home(torchlite)

    class Halves(checkpoint.DefaultSavePlanner):
        def transform_object(self, write_item, object):
            made = super().transform_object(write_item, object)
            return made.half().float() if isinstance(made, torchlite.Tensor) else made

    class Renamed(checkpoint.DefaultLoadPlanner):
        def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
            self.given = state_dict
            super().set_up_planner({"w": state_dict["v"]}, metadata, is_coordinator)

    third = torchlite.tensor([1 / 3])
    checkpoint.save({"w": third}, checkpoint_id=tmp_path, planner=Halves())
    found = {"v": torchlite.zeros(1), "u": torchlite.zeros(1)}
    checkpoint.load(found, checkpoint_id=tmp_path, planner=Renamed())
    assert found["v"] == third.half().float() and not found["u"]
    partly = {"w": torchlite.zeros(1), "more": torchlite.full((1,), 5.0)}
    checkpoint.load(partly, checkpoint_id=tmp_path, planner=checkpoint.DefaultLoadPlanner(allow_partial_load=True))
    assert partly["w"] and partly["more"] == 5
    several = {str(number): torchlite.full((2,), float(number)) for number in range(5)}
    writer = checkpoint.FileSystemWriter(tmp_path / "several", thread_count=2)
    checkpoint.save(several, storage_writer=writer)
    assert len(list((tmp_path / "several").glob("__0_*.distcp"))) == 2
    again = {name: torchlite.zeros(2) for name in several}
    checkpoint.load(again, storage_reader=checkpoint.FileSystemReader(tmp_path / "several"))
    assert plain(again) == plain(several)
