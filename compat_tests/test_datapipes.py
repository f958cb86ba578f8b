"""Datasets as pipelines, beside PyTorch's."""

import copy
import pickle
import random

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


def test_pipes_that_are_not_made_say_so():
    pipe, _ = sources(torchlite)
    with pytest.raises(NotImplementedError, match="torchlite has no pipe that does what `fork` does"):
        pipe().fork(2)
    with pytest.raises(AttributeError, match=r"torchlite has no torch\.utils\.data\.datapipes\.iter\.FileLister"):
        torchlite.utils.data.datapipes.iter.FileLister()
