"""Every public callable, called with arguments that it was not made for, in PyTorch and in torchlite.

Calls are expressions, as text: good ones come from PyTorch's own samples, or are found by trying arguments that suit
the parameters' types and names; bad ones are good ones with something replaced, added or left out.
"""
