"""`torch.package`: models with the code that they are made by, in one file."""

from .exporter import EmptyMatchError, PackageExporter, PackagingError
from .globs import Directory, GlobGroup
from .importers import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, is_from_package, sys_importer
from .reader import PackageImporter

__all__ = [
    "Directory", "EmptyMatchError", "GlobGroup", "Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter",
    "PackageExporter", "PackageImporter", "PackagingError", "is_from_package", "sys_importer",
]  # fmt: skip
