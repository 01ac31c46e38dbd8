"""The UML kernel: a Linux kernel that runs as one ordinary process (user-mode Linux), in virtual time.

Its clock stops while it computes and jumps to the next timer when it idles. Runs therefore depend on the scenario and the seed only. It
needs no privilege, device or hardware support, but a kernel compiled for it:

    kernels    the kernels that can be built, and those that are built
    source     their source: the distribution's package, or a file or folder of the user
    recipe     the changes to the source and its configuration (data/)
    build      compilation of a kernel: `ecnlab uml build-kernel`
    process    one UML process per job, pinned to a core
    backend    the backend `uml`, which runs a scenario in a UML process
"""
