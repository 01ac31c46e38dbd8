"""Backends of scenarios: the simulator, or queues of this engine in front of real kernels."""
