"""Save a large model, as a process of its own: python -m torture.save_model PATH."""

import sys

import tl1pca
from torture.kills import model

if __name__ == "__main__":
    tl1pca.save(model(1), sys.argv[1])
