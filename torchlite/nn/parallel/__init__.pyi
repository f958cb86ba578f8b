# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from torchlite.nn.parallel.data_parallel import DataParallel as DataParallel
from torchlite.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
from torchlite.nn.parallel.data_parallel import data_parallel as data_parallel
from torchlite.nn.parallel import ddp_buckets as ddp_buckets
from torchlite.nn.parallel import ddp_checks as ddp_checks
from torchlite.nn.parallel import ddp_delayed as ddp_delayed
from torchlite.nn.parallel import ddp_logging as ddp_logging
from torchlite.nn.parallel import ddp_precision as ddp_precision
from torchlite.nn.parallel import distributed as distributed
from torchlite.nn.parallel.scatter_gather import gather as gather
from torchlite.nn.parallel.parallel_apply import parallel_apply as parallel_apply
from torchlite.nn.parallel.replicate import replicate as replicate
from torchlite.nn.parallel.scatter_gather import scatter as scatter
from torchlite.nn.parallel import scatter_gather as scatter_gather

