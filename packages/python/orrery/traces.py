# SPDX-License-Identifier: BSD-3-Clause
"""Recordings (ORRERY_TRACE) as tables: orrery.traces.read("run.otrace") is a pandas DataFrame with a line for each task.

It runs orrery_report, which must be installed, or named by PYORRERY_REPORT.
"""
import os
import subprocess
import tempfile


def read(*recordings):
    """The tasks of a run, from the recordings of all its ranks. Raises ImportError: pandas is missing; OSError: the
    recordings cannot be read, or there is no orrery_report."""
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ImportError("orrery.traces.read makes pandas tables, and pandas is not installed: pip install pandas, or have "
                          "a table made by orrery_report -o tasks.csv") from error
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "tasks.csv")
        ran = subprocess.run([os.environ.get("PYORRERY_REPORT", "orrery_report"), "-o", table, *map(os.fspath, recordings)],
                             capture_output=True, text=True, check=False)
        if ran.returncode:
            raise OSError(f"orrery_report: {ran.stderr.strip()}")
        return pandas.read_csv(table)
