"""Where a stranger's code runs: no network, no files of the grader, bounded, gone afterwards."""
