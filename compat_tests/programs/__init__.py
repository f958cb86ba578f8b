"""Random programs that PyTorch and torchlite must run alike.

A program is data: a tuple of steps, each a row of the table of ops (`table.py`) with its holes filled (`holes.py`), so
that it can be run on either library (`program.py`), compared (`compare.py`), cut down to what matters (`report.py`) and
recorded for machines without PyTorch (`record.py`). PyTorch runs along while a program is drawn (`draw.py`).
"""
