"""`python -m primsplit`."""

from primsplit.cli import main

main()
