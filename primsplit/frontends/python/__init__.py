"""Traces Python itself: control flow, containers, and functions of modules that do not dispatch on arrays."""
