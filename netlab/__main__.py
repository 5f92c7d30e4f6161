"""Run ``python -m netlab``: the same as the ``netlab`` command."""

from netlab.cli.main import main

if __name__ == "__main__":
    main()
