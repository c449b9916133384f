"""Measuring outputs: metrics with signatures, intervals, paired tests, mistakes and the report."""
