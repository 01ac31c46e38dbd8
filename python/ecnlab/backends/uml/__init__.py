"""The UML kernel: a Linux kernel that runs as one ordinary process (user-mode Linux), in virtual time.

Its clock stands still while it computes and jumps to the next timer when it idles, so what happens in it depends on the scenario and the
seed and on nothing of this machine. It needs no privilege, no device and no hardware support, but a kernel compiled for it:

    kernels    the kernels that can be built, and those that are
    source     their source: the distribution's package, or a file or folder of yours
    recipe     what is changed in it and how it is configured (data/)
    build      the way from the one to the other: `ecnlab uml build-kernel`
    process    a UML process at work: one process for one job, pinned to a core, which leaves nothing behind
    backend    the backend `uml`, which runs a scenario in such a process
"""
