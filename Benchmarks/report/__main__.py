"""Runs the benchmarks and writes what they say: a table, report.json and report.svg.

python3 Benchmarks/report build/bench [--quick]

The exit status is 1 when a figure is beyond twice its limit: noise does not do that.
"""

import argparse
import json
import sys
from pathlib import Path

import chart
import rows
import runs
import table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="where the benchmarks were built, and where the report goes")
    parser.add_argument("--library", type=Path, help="if not ../release/libservicekit.so.1 from there")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: under two minutes")
    arguments = parser.parse_args()
    library = arguments.library or arguments.build.parent / "release" / "libservicekit.so.1"

    measured, alone, missing = runs.run(arguments.build.resolve(), library.resolve(), arguments.quick)
    results = rows.evaluate(measured, alone)
    print(table.text(results, measured, alone, missing))
    report = {
        "missing_peers": missing,
        "rows": results,
        "medians": measured,
        "medians_without_threads": alone,
    }
    (arguments.build / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    (arguments.build / "report.svg").write_text(chart.svg(results, measured))
    print(f"\n{arguments.build / 'report.json'}\n{arguments.build / 'report.svg'}")

    gross = [row["title"] for row in results if row["verdict"] == rows.GROSS]
    if gross:
        print("\nBeyond twice the limit: " + "; ".join(gross), file=sys.stderr)
    return 1 if gross else 0


if __name__ == "__main__":
    sys.exit(main())
