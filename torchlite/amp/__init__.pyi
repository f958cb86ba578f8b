# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from builtins import bool as _bool
from builtins import str as _str

from torchlite.amp.grad_scaler import GradScaler as GradScaler
from torchlite.amp.autocast_mode import autocast as autocast
from torchlite.amp import autocast_mode as autocast_mode
from torchlite.amp.autocast_mode import custom_bwd as custom_bwd
from torchlite.amp.autocast_mode import custom_fwd as custom_fwd
from torchlite.amp import grad_scaler as grad_scaler
from torchlite.amp import legacy as legacy

def is_autocast_available(device_type: _str) -> _bool: ...
