"""`python -m factoid` is the command `factoid`."""

import sys

from factoid.cli import main

sys.exit(main())
