"""``python -m tl1pca.cli``."""

from . import main

if __name__ == "__main__":
    main()
