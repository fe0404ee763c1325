"""The report as text."""

HEADER = ("", "ours", "unit", "ratio", "limit", "", "floor", "peers (× ours)")
FLOORS = (("call", "empty call into a library"), ("mutex", "mutex lock + unlock: M"),
          ("atomic_add", "atomic add"), ("malloc", "malloc + free"))


def text(results, measured, alone, missing):
    lines = [HEADER]
    for row in results:
        peers = ", ".join(
            f"{peer} {number(value)} (×{value / row['ours']:.2g})" for peer, value in row["peers"].items()
        )
        floor = "" if row["floor"] is None else number(row["floor"])
        lines.append((row["title"], number(row["ours"]), row["unit"], row["ratio"], row["limit"], row["verdict"], floor,
                      peers))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER) - 1)]
    text = "\n".join(
        "  ".join(cell.rjust(width) if column in (1, 6) else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(line, widths)))
        + "  " + line[-1]
        for line in lines
    )
    floors = "; ".join(f"{title} {measured['floor/' + name]:.1f} ns" for name, title in FLOORS)
    text += f"\n\nFloors: {floors}"
    text += (
        "\nThe second ratio is of a process that never had a second thread: glibc's mutexes do without atomic"
        f" instructions there, and M is {alone['floor/mutex']:.1f} ns. Limits hold for both."
    )
    if missing:
        text += f"\nLeft out, for they are not installed: {missing}"
    return text


def number(value):
    if value >= 10_000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
