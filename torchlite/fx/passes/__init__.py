"""What is done with graphs."""

from ...absent import lacking

__getattr__ = lacking(__name__, ("graph_manipulation", "pass_manager", "shape_prop", "split_module", "split_utils"))
