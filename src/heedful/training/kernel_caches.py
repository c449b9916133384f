"""How many compiled CPU kernels torch keeps. Knows no model.

In bfloat16 the products on a CPU are oneDNN's, which compiles a kernel for each shape it meets. Batches of a training
run have hundreds of shapes, and torch keeps the last 1,024 kernels twice, in two caches, with their buffers: gigabytes
that are hardly ever used again. One update needs a few dozen, which the next layer and the next update reuse.
"""

import os

KEPT = {"LRU_CACHE_CAPACITY": "16", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
"""The caches of torch's own oneDNN wrapper and of oneDNN, by the environment variables that size them."""


def bound_kernel_caches() -> None:
    """Bound both caches, unless the environment already says how large they may be.

    Must run before the first product of the process, when the variables are read.
    """
    for name, capacity in KEPT.items():
        os.environ.setdefault(name, capacity)
