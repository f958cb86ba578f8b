"""Datasets as pipelines, beside PyTorch's."""

import copy
import importlib
import io
import pickle
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

import torchlite

from .side_by_side import same_story
from .test_data import attempt


def sources(torch):
    pipes = torch.utils.data.datapipes
    return lambda n=10: pipes.iter.IterableWrapper(range(n)), lambda n=10: pipes.map.SequenceWrapper(range(n))


def negated(x):
    return -x


def total(a, b):
    return a + b


def is_big(x):
    return x > 5


def seeded(torch, seed=0):
    torch.manual_seed(seed)
    random.seed(seed)


@same_story
def test_pipes_of_samples_in_turn(torch, tell):
    pipe, _ = sources(torch)
    seeded(torch)
    for made in (
        pipe(), pipe().map(negated), pipe().filter(is_big), pipe().batch(3), pipe().batch(3, drop_last=True),
        pipe().batch(2).batch(2), pipe().batch(2).batch(2).unbatch(unbatch_level=2), pipe().batch(3).unbatch(),
        pipe().batch(2).batch(2).unbatch(unbatch_level=-1), pipe().batch(5).collate(), pipe(3).concat(pipe(2)),
        pipe(3).zip(pipe(2)), pipe().mux(pipe(3)), pipe(3).zip(pipe()).map(negated, input_col=0),
        pipe(3).zip(pipe()).map(total, input_col=[0, 1]),
        pipe(3).zip(pipe()).map(total, input_col=[0, 1], output_col=-1),
        pipe(3).zip(pipe(3)).map(negated, input_col=0, output_col=1), pipe().zip(pipe()).filter(is_big, input_col=1),
        pipe().shuffle(), pipe().shuffle(buffer_size=3), pipe().shuffle().set_seed(3), pipe().sharding_filter(),
        pipe().shuffle().set_shuffle(False),
        torch.utils.data.datapipes.iter.Sampler(pipe(), torch.utils.data.RandomSampler),
    ):  # fmt: skip
        tell(repr(made), list(made), list(made))
        attempt(tell, "length", lambda made=made: len(made))
    tell(list(pipe(4).batch(2).shuffle(unbatch_level=1)), torch.rand(1))


@same_story
def test_pipes_of_samples_by_index(torch, tell):
    _, pipe = sources(torch)
    seeded(torch)
    for made in (
        pipe(), pipe().map(negated), pipe().batch(3), pipe().batch(3, drop_last=True), pipe(2).concat(pipe(3)),
        pipe(2).zip(pipe(3)),
    ):  # fmt: skip
        tell(repr(made), len(made), [made[i] for i in range(len(made))])
        attempt(tell, "beyond", lambda made=made: made[len(made)])
    tell(list(pipe().shuffle()), list(pipe().shuffle(indices=[1, 3, 5])), list(pipe().shuffle().set_seed(3)))
    tell(torch.utils.data.datapipes.map.SequenceWrapper({"a": 1})["a"], torch.rand(1))


@same_story
def test_loaders_of_pipes(torch, tell):
    pipe, by_index = sources(torch)
    for options in ({}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}, {"shuffle": True}):
        for make in (
            lambda: pipe().shuffle().sharding_filter(),
            lambda: pipe(8).map(negated).batch(2).sharding_filter(),
            lambda: by_index().shuffle().sharding_filter(),
            lambda: pipe(3).sharding_filter().concat(pipe(4).shuffle().sharding_filter()),
        ):
            seeded(torch)
            loader = torch.utils.data.DataLoader(make(), batch_size=None, **options)
            tell(list(loader), list(loader), torch.rand(1))
    seeded(torch)
    loader = torch.utils.data.DataLoader(pipe().shuffle(), 2, shuffle=False, generator=torch.Generator().manual_seed(1))
    tell(list(loader), torch.rand(1))


@same_story
def test_methods_of_ones_own(torch, tell):
    data = torch.utils.data
    pipe, _ = sources(torch)

    class Repeated(data.IterDataPipe):
        def __init__(self, source, times=2):
            self.source = source
            self.times = times

        def __iter__(self):
            for sample in self.source:
                yield from [sample] * self.times

    functions = dict(data.IterDataPipe.functions)
    try:
        data.functional_datapipe("times")(Repeated)
        tell(list(pipe(2).times(times=3)), "times" in dir(pipe()))
        attempt(tell, "taken", lambda: data.functional_datapipe("times")(Repeated))
    finally:
        data.IterDataPipe.functions.clear()
        data.IterDataPipe.functions.update(functions)
    attempt(tell, "none such", lambda: pipe().times)


@same_story
def test_arguments_and_determinism(torch, tell):
    data = torch.utils.data
    iters = data.datapipes.iter
    pipe, _ = sources(torch)
    for label, make in {
        "concat": lambda: iters.Concater(),
        "not pipes": lambda: iters.Concater(1),
        "zip": lambda: iters.Zipper(1),
        "batch": lambda: pipe().batch(0),
        "shuffle": lambda: pipe().shuffle(buffer_size=0),
        "function": lambda: pipe().map(3),
        "columns": lambda: pipe().map(negated, output_col=1),
        "shares": lambda: pipe().sharding_filter().apply_sharding(0, 0),
        "lambda": lambda: pipe().map(lambda x: x),
        "chunk": lambda: (data.DataChunk([1, [2]]).as_str("  "), list(data.DataChunk((1, 2)).raw_iterator())),
        "frames": lambda: data.DFIterDataPipe()._is_dfpipe(),
        "not a class": lambda: data.non_deterministic(3),
    }.items():
        attempt(tell, label, make)

    @data.non_deterministic
    class Never(data.IterDataPipe):
        pass

    @data.non_deterministic(lambda differs: differs)
    class Sometimes(data.IterDataPipe):
        def __init__(self, differs):
            pass

    @data.argument_validation
    def checked(a: data.IterDataPipe):
        return a

    with data.guaranteed_datapipes_determinism():
        for make in (Never, lambda: Sometimes(False), lambda: Sometimes(True)):
            attempt(tell, "made", make)
    tell(Never(), Sometimes(True))
    attempt(tell, "argument", lambda: checked(1))


def test_pipes_are_pickled_and_copied():
    pipe, by_index = sources(torchlite)
    for made in (pipe().map(negated).batch(2), by_index().map(negated).batch(2)):
        for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert [list(batch) for batch in again] == [list(batch) for batch in made]


def third(x):
    return x % 3


def none_above_three(x):
    return None if x > 3 else 0


@same_story
def test_one_pipe_as_several(torch, tell):
    pipe, _ = sources(torch)
    a, b = pipe(5).fork(2, buffer_size=2)
    one, other = iter(a), iter(b)
    tell(next(one), next(other), len(a))
    attempt(tell, "runs ahead", lambda: list(one))
    a, b = pipe(5).fork(2)
    tell(list(zip(a, b)), list(a), list(b), list(a))
    one = iter(a)
    next(one)
    other = iter(b)
    next(other)
    again = iter(a)
    attempt(tell, "ended with its pass", lambda: next(one))
    attempt(tell, "so did the other", lambda: next(other))
    tell(next(again))
    parts = pipe(7).demux(3, third)
    tell([list(part) for part in parts])
    tell(list(pipe(9).demux(2, none_above_three, drop_none=True)[0]))
    attempt(tell, "no such child", lambda: list(pipe().demux(2, third)[0]))
    attempt(tell, "none", lambda: list(pipe().demux(2, none_above_three)[0]))
    attempt(tell, "full", lambda: list(pipe().demux(3, third, buffer_size=1)[2]))
    for bad in (lambda: pipe().fork(0), lambda: pipe().demux(0, third), lambda: pipe().fork(2, copy="x")):
        attempt(tell, "bad", bad)
    pipe(1).fork(2, buffer_size=-1)


def test_what_pipes_were_split_into_is_pickled_whole():
    pipe, _ = sources(torchlite)
    a, b = pickle.loads(pickle.dumps(pipe(6).demux(2, is_big)))
    assert (list(a), list(b)) == ([0, 1, 2, 3, 4, 5], [])
    assert a.main_datapipe is b.main_datapipe


@same_story
def test_samples_in_groups(torch, tell):
    pipe, _ = sources(torch)
    for options in (
        {}, {"group_size": 2}, {"keep_key": True}, {"buffer_size": 4}, {"buffer_size": 4, "group_size": 3},
        {"buffer_size": 4, "group_size": 4, "guaranteed_group_size": 2}, {"group_size": 0},
        {"buffer_size": 3, "group_size": 3, "guaranteed_group_size": 2, "drop_remaining": True},
        {"group_size": 2, "guaranteed_group_size": 3},
    ):  # fmt: skip
        attempt(tell, str(options), lambda options=options: list(pipe().groupby(third, **options)))


@same_story
def test_files_as_samples(torch, tell):
    pipes = torch.utils.data.datapipes.iter
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "sub").mkdir()
        for name in ("a.txt", "b.bin", "sub/c.txt"):
            (root / name).write_text(name * 2)
        for options in ({}, {"masks": "*.txt"}, {"recursive": True, "masks": ["*.txt", "*.x"]}):
            tell([path.removeprefix(folder) for path in pipes.FileLister(folder, **options)])
        opened = pipes.FileLister(folder, "*.txt").open_files(mode="b")
        tell([(path.removeprefix(folder), file.read()) for path, file in opened])
        opened = pipes.FileOpener([str(root / "a.txt")], mode="r", encoding="utf-8")
        tell([text for _, text in opened.read_from_stream(chunk=4)])
        attempt(tell, "length", lambda: len(pipes.FileLister(folder)))
        tell(len(pipes.FileLister(folder, length=3)))
    attempt(tell, "mode", lambda: pipes.FileOpener([], mode="w"))
    attempt(tell, "encoding", lambda: pipes.FileOpener([], mode="rb", encoding="utf-8"))


@same_story
def test_samples_shared_out(torch, tell):
    pipe, _ = sources(torch)
    settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
    levels = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.iter.sharding").SHARDING_PRIORITIES
    shared = pipe().sharding_filter()
    settings.apply_sharding(shared, 3, 1)
    tell(list(shared), len(shared))
    shared = pipe(24).map(negated).sharding_filter()
    settings.apply_sharding(shared, 2, 1, levels.DISTRIBUTED)
    settings.apply_sharding(shared, 3, 2, levels.MULTIPROCESSING)
    tell(list(shared))
    attempt(tell, "mixed", lambda: settings.apply_sharding(shared, 2, 1))
    twice = pipe().sharding_filter().map(negated).sharding_filter()
    attempt(tell, "twice", lambda: settings.apply_sharding(twice, 2, 1))


@same_story
def test_where_samples_come_from(torch, tell):
    graphs = importlib.import_module(f"{torch.__name__}.utils.data.graph")
    settings = importlib.import_module(f"{torch.__name__}.utils.data.graph_settings")
    pipe, _ = sources(torch)
    source = pipe()
    a, b = source.fork(2)
    end = a.zip(b.map(negated))
    graph = graphs.traverse_dps(end)
    tell(list(graph) == [id(end)], [type(p).__name__ for p, _ in graph[id(end)][1].values()])
    tell(sorted(type(p).__name__ for p in settings.get_all_graph_pipes(graph)))
    attempt(tell, "no pipe", lambda: graphs.traverse_dps(5))


class Counter:
    """What a class of pipes that are their own iterators counts with."""

    def __init__(self):
        self.at = 0

    def reset(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 3:
            raise StopIteration
        return self.at


def refused(x):
    raise ValueError("of no use", x)


@same_story
def test_passes_over_a_pipe(torch, tell):
    pipe, _ = sources(torch)
    mapped = pipe(4).map(negated)
    one = iter(mapped)
    tell(next(one), next(one), mapped._number_of_samples_yielded)
    other = iter(mapped)
    tell(next(other))
    attempt(tell, "one at a time", lambda: next(one))
    tell(list(other))
    own = type("Own", (torch.utils.data.IterDataPipe,), dict(vars(Counter)))()
    tell(list(own), list(own), own._number_of_samples_yielded)
    attempt(tell, "where", lambda: list(pipe(2).map(refused).batch(2)))
    snapshot = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.snapshot")
    again = pipe(6).map(negated)
    snapshot._simple_graph_snapshot_restoration(again, 2)
    tell(list(again), list(again))
    attempt(tell, "too far", lambda: snapshot._simple_graph_snapshot_restoration(again, 9))


@same_story
def test_columns_and_the_arguments_of_functions(torch, tell):
    pipe, _ = sources(torch)
    for bad in (lambda: pipe().map(total), lambda: pipe().map(negated, [0, 1]), lambda: pipe().filter(total, [0])):
        attempt(tell, "arguments", bad)


@same_story
def test_what_data_hold_is_told_by_the_endings_of_their_names(torch, tell):
    utils = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.decoder")
    names = {"json": b"[1]", "txt": b"a", "cls2": b"3", "pickle": pickle.dumps(2), "pt": b"b", "": b"c", "foo": b"d"}
    tell({name: utils.basichandlers(name, data) for name, data in names.items()})
    tell(utils.extension_extract_fn("a/b.c.json"), utils.extension_extract_fn("abc"))
    decoder = utils.Decoder(utils.basichandlers)
    tell(decoder([("a.json", b"1"), ("_a.json", b"2"), ("b.foo", b"x"), ("c.txt", io.BytesIO(b"y"))]))
    decoder.add_handler(lambda ending, data: "first" if ending == "txt" else None)
    tell(decoder([("a.json", b"1"), ("c.txt", b"y")]))

    iter = torch.utils.data.datapipes.iter
    source = iter.IterableWrapper([("a.json", b'{"x": 2}'), ("b.foo", io.BytesIO(b"z"))])
    with pytest.warns(FutureWarning, match="routed_decode"):
        pipe = source.routed_decode()
    pipe.add_handler(lambda ending, data: data * 2 if ending == "foo" else None)
    tell(list(pipe), len(pipe), type(pipe).__name__)


@same_story
def test_images_are_decoded_as_what_is_asked_for(torch, tell):
    image = pytest.importorskip("PIL.Image")
    utils = importlib.import_module(f"{torch.__name__}.utils.data.datapipes.utils.decoder")
    file = io.BytesIO()
    image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)).save(file, "png")
    for kind in ("l", "l8", "rgb", "rgb8", "rgba", "torch", "torchrgb8", "pil", "pill"):
        made = utils.imagehandler(kind)("png", file.getvalue())
        tell(kind, type(made).__name__, np.asarray(made).dtype, np.asarray(made).tolist())
    tell(utils.imagehandler("rgb")("txt", b""), utils.mathandler()("txt", b""))
    with pytest.raises(AssertionError, match="unknown image specification: xx"):
        utils.imagehandler("xx")
