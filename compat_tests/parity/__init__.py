"""The machinery of ``compat_tests.op_parity``.

One operator is put through one *check* in two libraries and what was seen in both is compared:

- ``neutral``: plain data that stand for the values of either library;
- ``library``: builds neutral values in a library and describes a library's values neutrally;
- ``transplant``: gives PyTorch's test helpers (lambdas and wrappers) to another library;
- ``samples``: PyTorch's own table of operators and their sample inputs, as neutral data;
- ``checks``: what a check does with an operator, the same code for either library;
- ``compare``: the differences between two neutral observations;
- ``result``, ``run``, ``pool``: one check of one operator, here or in worker processes that may crash and hang;
- ``store``: neutral data in files;
- ``catalog``, ``gaps``: families of operators and the list of what is known to fail;
- ``report``: tables, JSON and reproductions.

Only ``transplant``, ``samples``, ``run`` and ``pool`` need PyTorch.
"""
