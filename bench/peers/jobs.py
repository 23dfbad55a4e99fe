"""Live jobs, one a side: started once, told over a socket which block to run, asleep in between."""

import os
import shutil
import signal
import socket
import subprocess
import time

from settings import environment

SECONDS_FOR_A_BLOCK = 120


class SideFailed(Exception):
    """The job of a side ended or does not answer."""


class Cannot(Exception):
    """The side says that it cannot do this block; it goes on."""


class WrongResult(Exception):
    """A checksum or an element of a result is wrong."""


def each_rank(ranks, command):
    """A command that starts `command` RANK RANKS once for each rank.

    All in one session, as under mpirun: where the kernel shares the processor among sessions, a rank
    that yields makes room for ranks of its own session only.
    """
    each = 'n=$1; shift; r=0; while [ $r -lt $n ]; do "$@" $r $n & r=$((r + 1)); done; wait'
    return ["sh", "-c", each, "sh", str(ranks), *command]


def joining_variables():
    """Where the ranks of a job of ours meet."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}


class LiveJob:
    """The ranks of one side: programs that say hello over a socket and answer requests."""

    def __init__(self, side, ranks, folder, command_of, variables):
        """command_of(path of the socket, folder of the job) is the command that starts all ranks."""
        self.side = side
        self.ranks = ranks
        self.folder = os.path.join(folder, f"{side}-{ranks}-{time.monotonic_ns()}")
        os.makedirs(self.folder)
        path = os.path.join(self.folder, "socket")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(64)
        listener.settimeout(60)
        log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(command_of(path, self.folder), env=dict(os.environ, **variables),
                                        stdin=subprocess.DEVNULL, stdout=log,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.lines = [None] * self.ranks
        try:
            for _ in range(self.ranks):
                connection, _ = listener.accept()
                connection.settimeout(SECONDS_FOR_A_BLOCK)
                stream = connection.makefile("rw")
                _, _, rank, size = stream.readline().split()
                if int(size) != self.ranks:
                    raise SideFailed(f"{side}: a job of {size} ranks instead of {self.ranks}")
                self.lines[int(rank)] = stream
        except (OSError, ValueError) as error:
            self.kill()
            raise SideFailed(f"{side}: its job did not start: {self.log() or error}") from error
        finally:
            listener.close()

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:].strip()

    def _ask(self, request):
        answers = []
        try:
            for line in self.lines:
                line.write(request + "\n")
                line.flush()
            for line in self.lines:
                answers.append(line.readline().split(None, 1))
        except OSError as error:
            raise SideFailed(f"{self.side}: no answer to '{request}': {error}; {self.log()}") from error
        if not all(answers):
            raise SideFailed(f"{self.side}: ended in '{request}': {self.log()}")
        return answers

    def run(self, **block):
        """ns of one call for each sample, the maximum over ranks."""
        words = " ".join(f"{name}={value}" for name, value in block.items() if value != "")
        answers = self._ask("block " + words)
        for rank, (kind, text) in enumerate(answers):
            if kind == "cannot":
                raise Cannot(text.strip())
            if kind != "times":
                raise WrongResult(f"{self.side}: rank {rank} in '{words}': {text.strip()}")
        times = [[float(word) for word in text.split()] for _, text in answers]
        return [max(sample) for sample in zip(*times)]

    def end(self):
        for line in self.lines:
            try:
                line.write("end\n")
                line.flush()
            except (OSError, AttributeError):
                pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()


class Job(LiveJob):
    """The ranks of one side of bench/peers."""

    def __init__(self, side, ranks, programs, folder, cores):
        family = side.split("_")[0]
        worker = os.path.join(programs, f"peers_{family}")
        variables = environment(side, ranks > cores)
        if family in ("chorus", "gloo"):
            variables = {**variables, **joining_variables()}

        def command_of(path, own):
            arguments = [path, own, side]
            if side == "bound":
                return [worker, *arguments, str(ranks)]
            if family == "openmpi":
                return ["mpirun.openmpi", "-n", str(ranks), worker, *arguments, "0", "0"]
            if family == "mpich":
                return ["mpiexec.hydra", "-n", str(ranks), worker, *arguments, "0", "0"]
            return each_rank(ranks, [worker, *arguments])

        super().__init__(side, 1 if side == "bound" else ranks, folder, command_of, variables)

    def probe(self):
        """One-way time of a cache line between the first two cores, ns (of the bound's job)."""
        return float(self._ask("probe")[0][1])


class Jobs:
    """All live jobs of one number of ranks; a job that failed is started again when asked for."""

    def __init__(self, ranks, programs, folder, cores, reserve):
        """reserve: bytes of buffers for each rank."""
        self._files = []
        for rank in range(ranks):
            file = os.memfd_create(f"arena-{rank}")
            os.ftruncate(file, reserve + 4096)
            os.symlink(f"/proc/{os.getpid()}/fd/{file}", os.path.join(folder, f"arena-{rank}"))
            self._files.append(file)
        self._make = lambda side: Job(side, ranks, programs, folder, cores)
        self._jobs = {}
        self._folder = folder

    def __getitem__(self, side):
        if side not in self._jobs:
            self._jobs[side] = self._make(side)
        return self._jobs[side]

    def run(self, side, **block):
        try:
            return self[side].run(**block)
        except SideFailed:
            job = self._jobs.pop(side, None)
            if job is not None:
                job.kill()
            raise

    def end(self):
        for job in self._jobs.values():
            job.end()
        self._jobs.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        for file in self._files:
            os.close(file)
        shutil.rmtree(self._folder, ignore_errors=True)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
