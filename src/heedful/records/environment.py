"""Where a run was made: versions, machine and the state of the code, for environment.json.

Imports nothing that it describes (the version of torch is read from its metadata), and keeps no names of hosts, users
or paths.
"""

import datetime
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any


def describe_environment() -> dict[str, Any]:
    """Describe what can change a run's numbers or its speed, ready for JSON."""
    return {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "memory_gb": memory_gb(),
        "git": git_state(),
        "packages": package_versions(),
    }


def cpu_model() -> str:
    """Return the processor's name; its architecture where the system does not tell."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Count the cores that this process may run on (fewer than the machine's, in a container)."""
    if platform.system() == "Linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gb() -> float:
    """Return the machine's memory in units of 10^9 bytes, rounded to a tenth."""
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)


def git_state() -> dict[str, Any] | None:
    """Return the commit of the working folder's repository and whether files differ from it; None
    outside a repository.
    """
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "changed": bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def package_versions() -> dict[str, str]:
    """Return the installed versions of Heedful and of each package that it requires."""
    try:
        required = metadata.requires("heedful") or []
    except metadata.PackageNotFoundError:  # used from its source folder, not installed
        required = ["torch", "sentencepiece", "sacrebleu"]
    names = ["heedful", *(found.group() for line in required if (found := re.match(r"[\w.-]+", line)))]
    versions = {name: _version(name) for name in dict.fromkeys(names)}
    return {name: version for name, version in versions.items() if version is not None}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
