"""Caching: fingerprints of functions, cheap proofs that they still hold, work shared by threads, and counters."""
