"""What stands in the place of modules that were mocked: a copy of this file is in the package."""


class MockedObject:
    """An object that fails when it is used."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    @staticmethod
    def _of(module):
        """The `__getattr__` of a module that was mocked."""

        def __getattr__(name):
            if name.startswith("__") and name.endswith("__"):
                raise AttributeError(name)
            return MockedObject(f"{module}.{name}")

        return __getattr__

    def __repr__(self):
        return f"MockedObject({self._name})"


def _failing(name):
    def method(self, *args, **kwargs):
        raise NotImplementedError(
            f"Object '{self._name}' was mocked out during packaging but it is being used in {name}"
        )

    return method


_USES = """
    getattr setattr call getitem setitem len iter contains enter exit add sub mul truediv floordiv mod pow neg lt le gt
    ge bool int float
"""
for _name in _USES.split():
    setattr(MockedObject, f"__{_name}__", _failing(f"__{_name}__"))
