"""The report as one SVG: a bar for each who, row by row, and how things grow."""

import html
import math

from table import number

WIDTH = 1120
COLORS = {"ours": "#0b6bcb", "floor": "#9aa5b1", "plain": "#e0a030", "glib": "#4c9a2a", "boost": "#b5482f",
          "sigc++": "#8a5fb0", "qt": "#2f9c95", "libuv": "#d0608c", "zeromq": "#6b705c"}
LEFT, BAR, GAP, LABEL = 330, 11, 14, 110


def svg(results, measured):
    parts = []
    y = text(parts, 20, 34, "ServiceKit beside the floor and its peers (logarithmic; medians of one run)", 18)
    y = legend(parts, y + 6)
    for row in results:
        y = bars(parts, row, y + GAP)
    y += 40
    panels = (
        ("ns to resolve, by registrations", growth(measured, "growth/resolve/", lambda size, value: value)),
        ("ns per observer of a send, by observers", growth(measured, "growth/send/", lambda size, value: value / size)),
        ("bytes, by registrations", growth(measured, "memory/registrations/", lambda size, value: value)),
        ("bytes, by observers", growth(measured, "memory/observers/", lambda size, value: value)),
    )
    for index, (title, points) in enumerate(panels):
        panel(parts, title, points, 20 + index % 2 * 550, y + index // 2 * 300)
    height = y + 610
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts) + "\n</svg>\n"
    )


def text(parts, x, y, words, size=12, anchor="start", color="#222"):
    parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}">'
                 f"{html.escape(words)}</text>")
    return y + size


def rectangle(parts, x, y, width, height, color):
    parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>')


def legend(parts, y):
    x = 20
    for name, color in COLORS.items():
        rectangle(parts, x, y, 12, 12, color)
        text(parts, x + 17, y + 10, name)
        x += 90
    return y + 16


def bars(parts, row, y):
    values = {"ours": row["ours"], "floor": row["floor"], **row["peers"]}
    values = {who: value for who, value in values.items() if value and value > 0}
    low = 10 ** math.floor(math.log10(min(values.values())) - 0.05)
    high = max(values.values())
    room = WIDTH - LEFT - LABEL
    limit = f"  {row['limit']} {row['verdict']}" if row["limit"] else ""
    color = {"beyond": "#b06000", "gross": "#b00020"}.get(row["verdict"], "#222")
    text(parts, LEFT - 10, y + BAR, row["title"], anchor="end")
    text(parts, LEFT - 10, y + BAR + 14, f"{row['unit']}  {row['ratio']}{limit}", 10, "end", color)
    start = y
    for who, value in values.items():
        width = 2 + (room - 2) * math.log(value / low) / max(math.log(high / low), 1e-9)
        rectangle(parts, LEFT, y, width, BAR - 2, COLORS[who])
        text(parts, LEFT + width + 4, y + BAR - 2, f"{number(value)} {who}", 10)
        y += BAR
    return max(y, start + 2 * BAR + 6)


def growth(measured, prefix, value):
    sizes = sorted(int(name.removeprefix(prefix)) for name in measured if name.startswith(prefix))
    points = [(size, value(size, measured[f"{prefix}{size}"])) for size in sizes]
    return [(size, result) for size, result in points if result > 0]


def panel(parts, title, points, left, top, width=510, height=270):
    text(parts, left, top + 14, title, 14)
    if len(points) < 2:
        return
    x0, x1 = left + 90, left + width - 10
    y0, y1 = top + height - 30, top + 30
    low = math.floor(min(math.log10(value) for _, value in points))
    high = math.ceil(max(math.log10(value) for _, value in points) + 1e-9)
    first, last = (math.log10(points[index][0]) for index in (0, -1))
    at = [(x0 + (math.log10(size) - first) / (last - first) * (x1 - x0),
           y0 - (math.log10(value) - low) / (high - low) * (y0 - y1)) for size, value in points]
    for power in range(low, high + 1):
        y = y0 - (power - low) / (high - low) * (y0 - y1)
        parts.append(f'<line x1="{x0}" x2="{x1}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        text(parts, x0 - 6, y + 4, f"{10**power:,}".replace(",", " ") if power >= 0 else f"{10**power:g}", 11, "end")
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{COLORS["ours"]}" stroke-width="2"/>')
    for (size, value), (x, y) in zip(points, at):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLORS["ours"]}"/>')
        text(parts, x, y - 7, number(value), 10, "middle")
        text(parts, x, y0 + 16, f"{size:,}".replace(",", " "), 11, "middle")
