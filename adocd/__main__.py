"""`python -m adocd` is `adocd`."""

from adocd.cli.adocd import main

if __name__ == "__main__":
    main()
