"""What is switched on in a thread, and how it is put back."""

from .context import Context, Holding, HoldingItems, SetAtOnce, Switch, leaving
from .mode import (
    GRAD,
    NO_GRAD,
    Mode,
    State,
    handling,
    is_watched,
    left,
    local,
    look_past_forms,
    silent,
    while_transforming,
    with_grad,
)
from .seer import Seer
