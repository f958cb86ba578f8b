"""Tells how loading each file that is made to do harm ends."""

import argparse
import json

from compat_tests.hostile import ended

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=["torchlite", "torch"], default="torchlite")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(json.dumps(ended(options.library, options.names), indent=0))
