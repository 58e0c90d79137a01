import sys

from ocmem.cli import main

sys.exit(main())
