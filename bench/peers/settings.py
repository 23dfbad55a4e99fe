"""What each peer is told to do: the settings that are tried for every operation.

A candidate is (side, setting, label). The sides of a peer are jobs started with different variables;
the settings of a side are switched while its job lives.
"""

# Open MPI: coll/tuned's algorithms, by the number that its variable takes.
_OPENMPI = {
    "all_reduce": ("allreduce", {1: "basic_linear", 2: "nonoverlapping", 3: "recursive_doubling",
                                 4: "ring", 5: "segmented_ring", 6: "rabenseifner"}),
    "all_gather": ("allgather", {1: "linear", 2: "bruck", 3: "recursive_doubling", 4: "ring",
                                 5: "neighbor", 6: "two_proc"}),
    "reduce_scatter": ("reduce_scatter_block", {1: "basic_linear", 2: "recursive_doubling",
                                                3: "recursive_halving", 4: "butterfly"}),
    "all_to_all": ("alltoall", {1: "linear", 2: "pairwise", 3: "modified_bruck", 4: "linear_sync",
                                5: "two_proc"}),
    "broadcast": ("bcast", {1: "basic_linear", 3: "pipeline", 5: "binary_tree", 6: "binomial",
                            8: "scatter_allgather"}),
    "reduce": ("reduce", {1: "linear", 3: "pipeline", 5: "binomial", 7: "rabenseifner"}),
    "gather": ("gather", {1: "basic_linear", 2: "binomial", 3: "linear_sync"}),
    "scatter": ("scatter", {1: "basic_linear", 2: "binomial", 3: "linear_nb"}),
    "barrier": ("barrier", {1: "linear", 3: "recursive_doubling", 4: "bruck", 5: "two_proc",
                            6: "tree"}),
}

# MPICH: release_gather in shared memory (1), or its general algorithms (0) and which of them.
_MPICH = {
    "all_reduce": ("ALLREDUCE", {3: "recursive_doubling", 4: "reduce_scatter_allgather"}),
    "all_gather": ("ALLGATHER", {1: "brucks", 3: "recursive_doubling", 4: "ring"}),
    "reduce_scatter": ("REDUCE_SCATTER_BLOCK", {2: "recursive_doubling", 3: "pairwise",
                                                4: "recursive_halving"}),
    "all_to_all": ("ALLTOALL", {1: "brucks", 3: "pairwise", 5: "scattered"}),
    "broadcast": ("BCAST", {1: "binomial", 4: "scatter_recursive_doubling_allgather",
                            5: "scatter_ring_allgather"}),
    "reduce": ("REDUCE", {1: "binomial", 4: "reduce_scatter_gather"}),
    "gather": ("GATHER", {1: "binomial"}),
    "scatter": ("SCATTER", {1: "binomial"}),
    "barrier": ("BARRIER", {3: "dissemination"}),
}
_RELEASE_GATHER = {"all_reduce": "ALLREDUCE", "broadcast": "BCAST", "reduce": "REDUCE",
                   "barrier": "BARRIER"}

# The library's name for people, and the variables its job is started with.
SIDES = {
    "openmpi": ("Open MPI", {}),
    "openmpi_copy": ("Open MPI", {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}),
    "openmpi_sm": ("Open MPI", {"OMPI_MCA_coll_sm_priority": "100"}),
    "mpich": ("MPICH", {}),
    "gloo": ("Gloo", {}),
}


def _openmpi(op, ranks):
    name, algorithms = _OPENMPI[op]
    for side, path in (("openmpi", "cma"), ("openmpi_copy", "copy")):
        yield side, "", f"Open MPI default {path}"
        for number, algorithm in algorithms.items():
            if algorithm == "two_proc" and ranks != 2:
                continue
            yield (side, f"coll_tuned_{name}_algorithm={number}", f"Open MPI {algorithm} {path}")
    if op in _RELEASE_GATHER:
        yield "openmpi_sm", "", "Open MPI sm"


def _mpich(op, ranks):
    yield "mpich", "", "MPICH default"
    if op in _RELEASE_GATHER:
        name = _RELEASE_GATHER[op]
        yield "mpich", f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM=1", "MPICH release_gather"
    name, algorithms = _MPICH[op]
    general = f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM=0," if op in _RELEASE_GATHER else ""
    for number, algorithm in algorithms.items():
        yield ("mpich", f"{general}MPIR_CVAR_{name}_INTRA_ALGORITHM={number}", f"MPICH {algorithm}")


def _gloo(op, ranks):
    if op == "all_reduce":
        for setting in ("ring", "bcube", "halving_doubling", "ring_chunked",
                        "halving_doubling_busy"):
            yield "gloo", setting, f"Gloo {setting}"
    elif op == "reduce_scatter":
        for setting in ("halving_doubling", "halving_doubling_busy"):
            yield "gloo", setting, f"Gloo {setting}"
    else:
        yield "gloo", "", "Gloo"


def candidates(op, ranks, sides):
    """The candidates of `op` among `sides`, each once."""
    for family in (_openmpi, _mpich, _gloo):
        for candidate in family(op, ranks):
            if candidate[0] in sides:
                yield candidate


def environment(side, crowded):
    """Variables for a side's job; crowded: there are more ranks than cores."""
    variables = {
        # What KeepMemory in control.cc does, for memory that is allocated before main.
        "GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1" if crowded else "0",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
    }
    if crowded:
        variables["MPIR_CVAR_POLLS_BEFORE_YIELD"] = "1"
    variables.update(SIDES.get(side, ("", {}))[1])
    return variables
