"""Ops along dimensions: sums, extremes, statistics, sorting, scans."""
