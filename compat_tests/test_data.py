"""Datasets, samplers, batches: what a DataLoader does in one process, beside PyTorch's."""

import collections
import copy
import itertools
import pickle
import random

import numpy as np
import pytest

import torchlite

from .side_by_side import same_story

Point = collections.namedtuple("Point", "x y")


def kinds(torch):
    """A class of each kind of dataset, in terms of a library."""
    data = torch.utils.data

    class Squares(data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, index):
            return index, torch.tensor([index**2, -index]), str(index)

    class Stream(data.IterableDataset):
        def __init__(self, n=7):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    class Sized(Stream):
        def __len__(self):
            return 3

    return Squares, Stream, Sized


def attempt(tell, label, make):
    """Tell what comes of a call, be it an error."""
    try:
        tell(label, make())
    except Exception as error:
        tell(label, type(error).__name__, str(error).split(" at 0x")[0])


# ---- order


SHUFFLES = {
    "in order": lambda torch, data, generator: {},
    "shuffled": lambda torch, data, generator: {"shuffle": True},
    "sampler": lambda torch, data, generator: {"sampler": torch.utils.data.RandomSampler(data)},
    "sampler with generator": lambda torch, data, generator: {
        "sampler": torch.utils.data.RandomSampler(data, generator=generator)
    },
    "replaced": lambda torch, data, generator: {
        "sampler": torch.utils.data.RandomSampler(data, replacement=True, num_samples=75)
    },
    "few": lambda torch, data, generator: {"sampler": torch.utils.data.RandomSampler(data, num_samples=5)},
    "many": lambda torch, data, generator: {"sampler": torch.utils.data.RandomSampler(data, num_samples=40)},
    "weighted": lambda torch, data, generator: {
        "sampler": torch.utils.data.WeightedRandomSampler([0.1, 0.5, 2, 0.3], 9, generator=generator)
    },
    "weighted without replacement": lambda torch, data, generator: {
        "sampler": torch.utils.data.WeightedRandomSampler(range(1, 18), 12, replacement=False)
    },
    "subset": lambda torch, data, generator: {"sampler": torch.utils.data.SubsetRandomSampler([3, 1, 4, 1, 5, 9])},
    "batches": lambda torch, data, generator: {
        "batch_sampler": torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), 4, False),
        "batch_size": 1,
        "drop_last": False,
    },
    "distributed": lambda torch, data, generator: {
        "sampler": torch.utils.data.DistributedSampler(data, num_replicas=3, rank=1, seed=2)
    },
}


def epochs(torch, tell, named, batch_size, drop_last, own_generator, count=2, **options):
    """Tell of two passes over a loader, and where they leave the random streams."""
    torch.manual_seed(3)
    rows = torch.arange(17)
    generator = torch.Generator().manual_seed(8) if own_generator else None
    options = {"batch_size": batch_size, "drop_last": drop_last, "generator": generator, **options}
    loader = torch.utils.data.DataLoader(rows, **(options | SHUFFLES[named](torch, rows, generator)))
    for _ in range(count):
        tell(list(loader), torch.rand(1))
    if generator is not None:
        tell(torch.rand(1, generator=generator))


CONFIGURATIONS = [
    (named, size, drop, own)
    for named in SHUFFLES
    for size, drop in ((1, False), (4, False), (5, True), (None, False))
    for own in (False, True)
    if named != "batches" or size == 1
]


@pytest.mark.parametrize(("named", "size", "drop", "own"), CONFIGURATIONS)
def test_order_and_random_streams(named, size, drop, own):
    @same_story
    def story(torch, tell):
        epochs(torch, tell, named, size, drop, own)

    story()


@same_story
def test_a_pass_left_half_way_leaves_the_streams_as_pytorch_does(torch, tell):
    torch.manual_seed(1)
    for _ in range(2):
        batches = iter(torch.utils.data.DataLoader(torch.arange(9), 2, shuffle=True))
        tell(next(batches), next(batches), len(batches), torch.rand(1))


@same_story
def test_random_split(torch, tell):
    data = list(range(23))
    torch.manual_seed(0)
    for lengths in ([3, 20], [0.5, 0.5], [0.1, 0.2, 0.7], [1 / 3] * 3, [1.0], [0.01, 0.99]):
        tell([list(part) for part in torch.utils.data.random_split(data, lengths)])
    generator = torch.Generator().manual_seed(42)
    tell([part.indices for part in torch.utils.data.random_split(data, [0.3, 0.7], generator=generator)])
    attempt(tell, "fraction", lambda: torch.utils.data.random_split(data, [1.5, -0.5]))


# ---- datasets


@same_story
def test_datasets_made_of_others(torch, tell):
    Squares, Stream, _ = kinds(torch)
    data = torch.utils.data
    a, b = data.TensorDataset(torch.arange(4), torch.eye(4)), data.TensorDataset(torch.arange(3), torch.ones(3, 4))
    joined = a + b
    tell(type(joined).__name__, len(joined), joined[5], joined[-1], joined.cumulative_sizes)
    tell(list(data.DataLoader(joined, 3)))
    chained = Stream(2) + Stream(3)
    tell(type(chained).__name__, list(chained), list(data.DataLoader(chained, 2)))
    pairs, named = data.StackDataset(a, [10, 20, 30, 40]), data.StackDataset(x=a, y=Squares())
    tell(pairs[2], len(pairs), list(data.DataLoader(pairs, 2)))
    attempt(tell, "sizes", lambda: named)
    some = data.Subset(Squares(), [2, 3, 5, 7])
    tell(some[1], len(some), list(data.DataLoader(some, 3)), data.Subset(a, [1, 2])[[0, 1]])
    tell(data.Subset(some, [3, 0])[0], data.Subset(some, [3, 0]).__getitems__([1, 0]))


@same_story
def test_getitems_fetches_a_whole_batch(torch, tell):
    class Whole(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitems__(self, indices):
            tell("asked for", indices)
            return [i * 10 for i in indices]

    tell(list(torch.utils.data.DataLoader(Whole(), 2)))
    tell(torch.utils.data.Subset(Whole(), [4, 3, 2]).__getitems__([0, 2]))


@same_story
def test_iterable_datasets(torch, tell):
    _, Stream, Sized = kinds(torch)
    for options in ({}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
        tell(list(torch.utils.data.DataLoader(Stream(), **options)))
    loader = torch.utils.data.DataLoader(Sized(4), 1)
    tell(len(loader), len(list(loader)), len(torch.utils.data.DataLoader(Sized(), 2, drop_last=True)))


def test_lengths_reported_too_short_are_warned_of():
    _, _, Sized = kinds(torchlite)
    loader = torchlite.utils.data.DataLoader(Sized(4), 1)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match=r"was reported to be 3\(when accessing len\(dataloader\)\), but 4 samples"):
        list(loader)


# ---- batches


SAMPLES = {
    "numbers": lambda torch: [1, 2],
    "floats": lambda torch: [1.5, 2],
    "bools": lambda torch: [True, False],
    "texts": lambda torch: ["a", "b"],
    "bytes": lambda torch: [b"a", b"b"],
    "tensors": lambda torch: [torch.ones(2), torch.zeros(2)],
    "tensors that differ": lambda torch: [torch.ones(2), torch.zeros(3)],
    "tensors with gradients": lambda torch: [torch.ones(2, requires_grad=True), torch.zeros(2)],
    "arrays": lambda torch: [np.ones(2), np.zeros(2)],
    "0-dim arrays": lambda torch: [np.array(1.0), np.array(2.0)],
    "NumPy numbers": lambda torch: [np.float32(1), np.float32(2)],
    "NumPy texts": lambda torch: [np.array(["a"])],
    "tuples": lambda torch: [(1, 2.0), (3, 4.0)],
    "lists": lambda torch: [[1, "a"], [3, "b"]],
    "named tuples": lambda torch: [Point(1, 2), Point(3, 4)],
    "ranges": lambda torch: [range(2), range(3, 5)],
    "dicts": lambda torch: [{"a": 1, "b": (1, 2)}, {"a": 2, "b": (3, 4)}],
    "ordered dicts": lambda torch: [collections.OrderedDict(a=1)] * 2,
    "default dicts": lambda torch: [collections.defaultdict(int, a=1)] * 2,
    "dicts that differ": lambda torch: [{"a": 1}, {"b": 1}],
    "unequal lengths": lambda torch: [[1, 2], [1]],
    "mixed": lambda torch: [1, "a"],
    "objects": lambda torch: [{1}, {2}],
    "None": lambda torch: [None],
    "nothing": lambda torch: [],
}


@pytest.mark.parametrize("named", SAMPLES)
def test_batches(named):
    @same_story
    def story(torch, tell):
        collate = torch.utils.data.default_collate
        attempt(tell, "batch", lambda: collate(SAMPLES[named](torch)))
        attempt(tell, "type", lambda: type(collate(SAMPLES[named](torch))).__name__)
        attempt(tell, "converted", lambda: torch.utils.data.default_convert(SAMPLES[named](torch)))

    story()


@same_story
def test_batches_by_a_table_of_ones_own(torch, tell):
    collate = torch.utils.data._utils.collate

    def joined(batch, *, collate_fn_map=None):
        return "+".join(batch)

    tell(collate.collate([("a", 1), ("b", 2)], collate_fn_map={str: joined, int: collate.collate_int_fn}))
    tell(len(collate.default_collate_fn_map), collate.default_collate_fn_map[str] is collate.collate_str_fn)


@same_story
def test_collate_fn_and_samples_as_they_come(torch, tell):
    Squares, _, _ = kinds(torch)
    tell(list(torch.utils.data.DataLoader(Squares(), 4, collate_fn=lambda batch: [sample[0] for sample in batch])))
    tell(list(torch.utils.data.DataLoader(Squares(), batch_size=None))[:2])
    tell(list(torch.utils.data.DataLoader(torch.arange(6.0), batch_size=None, sampler=[[0, 1], [4]])))
    tell(list(torch.utils.data.DataLoader({0: "zero", 1: "one"}, batch_sampler=[[1], [0, 1]])))


# ---- arguments


ARGUMENTS = [
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -2},
    {"persistent_workers": True}, {"sampler": [1], "shuffle": True}, {"sampler": [1], "shuffle": False},
    {"batch_sampler": [[1]], "batch_size": 3}, {"batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True}, {"batch_size": 0}, {"batch_size": 2.0}, {"batch_size": -2},
    {"batch_size": True}, {"drop_last": 1}, {"multiprocessing_context": "spawn"},
    {"num_workers": 1, "multiprocessing_context": "foo"}, {"num_workers": 1, "multiprocessing_context": 3},
    {"num_workers": 1000}, {"timeout": 3}, {"pin_memory": True}, {"in_order": False},
]  # fmt: skip


@pytest.mark.parametrize("options", ARGUMENTS, ids=str)
def test_arguments(options):
    @same_story
    def story(torch, tell):
        loader = torch.utils.data.DataLoader([1, 2, 3], **options)
        tell(loader.batch_size, loader.drop_last, loader.num_workers, loader.prefetch_factor, len(loader))
        if not loader.num_workers:
            tell(list(loader))

    story()


@same_story
def test_arguments_of_an_iterable_dataset(torch, tell):
    _, Stream, _ = kinds(torch)
    for options in ({"shuffle": True}, {"shuffle": False}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        attempt(tell, "loader", lambda options=options: len(torch.utils.data.DataLoader(Stream(), **options)))


@same_story
def test_arguments_of_samplers_and_datasets(torch, tell):
    data = torch.utils.data
    rows = list(range(4))
    makers = {
        "replacement": lambda: data.RandomSampler(rows, replacement=3),
        "no samples": lambda: data.RandomSampler(rows, num_samples=0),
        "empty": lambda: data.RandomSampler([]),
        "float": lambda: data.RandomSampler(rows, num_samples=2.0),
        "weights": lambda: data.WeightedRandomSampler([[1, 2]], 2),
        "bool": lambda: data.WeightedRandomSampler([1, 2], True),
        "weighted replacement": lambda: data.WeightedRandomSampler([1, 2], 2, replacement=1),
        "too many": lambda: list(data.WeightedRandomSampler([1, 0.0], 3, replacement=False)),
        "batch": lambda: data.BatchSampler(rows, 0, False),
        "batch True": lambda: data.BatchSampler(rows, True, False),
        "drop": lambda: data.BatchSampler(rows, 2, 1),
        "lengths": lambda: [len(data.BatchSampler(rows, 3, drop)) for drop in (True, False)],
        "argument": lambda: data.Sampler(rows),
        "abstract": lambda: iter(data.Sampler()),
        "rank": lambda: data.DistributedSampler(rows, 2, 2),
        "no group": lambda: data.DistributedSampler(rows),
        "rows": lambda: data.TensorDataset(torch.ones(2), torch.ones(3)),
        "stack": lambda: data.StackDataset(),
        "both": lambda: data.StackDataset(rows, a=rows),
        "stack sizes": lambda: data.StackDataset(rows, [1]),
        "concat": lambda: data.ConcatDataset([]),
        "concat iterable": lambda: data.ConcatDataset([kinds(torch)[1]()]),
        "far": lambda: data.ConcatDataset([rows, rows])[-9],
        "chain": lambda: list(data.ChainDataset([rows])),
        "dataset": lambda: data.Dataset()[0],
        "length": lambda: len(data.Dataset()),
        "split": lambda: data.random_split(rows, [1, 1]),
    }
    for label, make in makers.items():
        attempt(tell, label, make)
    loader = data.DataLoader(rows, 2)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers", "num_workers"):
        attempt(tell, name, lambda name=name: setattr(loader, name, None))


@same_story
def test_classes_are_found_where_pytorch_has_them(torch, tell):
    data = torch.utils.data
    for name in (
        "Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset", "Subset",
        "Sampler", "BatchSampler", "DataLoader", "DistributedSampler", "RandomSampler", "SequentialSampler",
        "SubsetRandomSampler", "WeightedRandomSampler", "_DatasetKind",
    ):  # fmt: skip
        tell(repr(getattr(data, name)), sorted([base.__name__ for base in getattr(data, name).__mro__]))
    tell(repr(data.Dataset[int]), repr(data.DataLoader[int]), data.get_worker_info())
    tell(data.dataset.Subset is data.Subset, data.sampler.Sampler is data.Sampler)
    tell(data.dataloader.default_collate is data.default_collate)
    tell(data._utils.collate.default_collate is data.default_collate, data._utils.MP_STATUS_CHECK_INTERVAL)
    tell(data.distributed.DistributedSampler is data.DistributedSampler)
    loader = data.DataLoader([1, 2], 1)
    tell(repr(loader).split(" at ")[0], repr(iter(loader)).split(" at ")[0], repr(loader.sampler).split(" at ")[0])


def test_datasets_and_loaders_are_pickled_and_copied():
    data = torchlite.utils.data
    rows = data.Subset(data.TensorDataset(torchlite.arange(5)), [4, 2])
    for again in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
        assert [sample[0].item() for sample in again] == [4, 2]
    loader = pickle.loads(pickle.dumps(data.DataLoader(rows, 2)))
    assert [batch[0].tolist() for batch in loader] == [[4, 2]]
    with pytest.raises(NotImplementedError, match="_SingleProcessDataLoaderIter cannot be pickled"):
        pickle.dumps(iter(loader))


def test_rows_of_tensors_come_as_through_their_samples():
    """Rows of tensors are gathered at once, where that makes no difference."""
    data = torchlite.utils.data

    class Plain(data.TensorDataset):
        def __getitem__(self, index):
            return super().__getitem__(index)

    random.seed(0)
    tensors = (torchlite.randn(9, 3, 2), torchlite.arange(9), torchlite.randn(2, 9).t(), torchlite.rand(9) > 0.5)
    for order in ([0, 8, 8, 3], [-1, 2], [], range(9)):
        for some in (lambda rows: rows, lambda rows: data.Subset(rows, [5, 6, 7, 8, 0, 1, 2, 3, 4])):
            quick = list(data.DataLoader(some(data.TensorDataset(*tensors)), 2, sampler=order))
            slow = list(data.DataLoader(some(Plain(*tensors)), 2, sampler=order))
            assert len(quick) == len(slow)
            for a, b in zip(itertools.chain(*quick), itertools.chain(*slow)):
                assert a.equal(b) and a.stride() == b.stride() and a.dtype is b.dtype
                assert not a._is_view() and a.is_leaf
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 9"):
        list(data.DataLoader(data.TensorDataset(*tensors), 2, sampler=[1, 9]))
