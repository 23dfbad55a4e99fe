"""Lines over sizes, both axes logarithmic, as an SVG that reads well on light and dark pages."""

import html
import math

# Of middle lightness; told apart by people who do not tell red from green.
COLOURS = ("#0b84d8", "#1f9e74", "#d9772b", "#8b949e", "#c4679f", "#8a6fd1")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 430, 370, 58, 14, 82, 46

STYLE = ("text { font: 12px sans-serif; fill: #57606a } .small { font-size: 10px } "
         ".title { font-weight: bold } .head { font-size: 14px; font-weight: bold } "
         ".grid { stroke: #8b949e; stroke-opacity: .45 } "
         "@media (prefers-color-scheme: dark) { text { fill: #b1bac4 } }")


def show_size(size):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):g} {unit}"
    return f"{size:g} B"


class Panel:
    """One diagram; series is {name: [(x, value), ...]}, all above 0. `show` says x, by default bytes."""

    def __init__(self, title, series, show=show_size):
        self.title = title
        self.show = show
        self.series = {name: sorted(points) for name, points in series.items() if points}
        xs = [x for points in self.series.values() for x, _ in points]
        ys = [y for points in self.series.values() for _, y in points]
        self.x = (math.floor(math.log2(min(xs))), math.ceil(math.log2(max(xs))))
        self.y = (math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys))))
        self.x = (self.x[0], max(self.x[1], self.x[0] + 1))
        self.y = (self.y[0], max(self.y[1], self.y[0] + 1))

    def draw(self, x0):
        def across(value):
            part = (math.log2(value) - self.x[0]) / (self.x[1] - self.x[0])
            return x0 + LEFT + part * (WIDTH - LEFT - RIGHT)

        def up(value):
            part = (math.log10(value) - self.y[0]) / (self.y[1] - self.y[0])
            return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)

        def text(x, y, anchor, words, kind=""):
            return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
                    f"{html.escape(words)}</text>")

        out = [text(x0 + LEFT, TOP - 12, "start", self.title, "title")]
        for decade in range(self.y[0], self.y[1] + 1):
            y = up(10 ** decade)
            out.append(f'<line x1="{x0 + LEFT}" y1="{y:.1f}" x2="{x0 + WIDTH - RIGHT}" '
                       f'y2="{y:.1f}" class="grid"/>')
            out.append(text(x0 + LEFT - 6, y + 4, "end", f"{10 ** decade:g}"))
        step = max(1, math.ceil((self.x[1] - self.x[0]) / 6))
        for power in range(self.x[0], self.x[1] + 1, step):
            x = across(2 ** power)
            out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" '
                       f'class="grid"/>')
            out.append(text(x, HEIGHT - BOTTOM + 16, "middle", self.show(2 ** power), "small"))
        for i, (name, points) in enumerate(self.series.items()):
            colour = COLOURS[i % len(COLOURS)]
            path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                       f'stroke-width="1.8"/>')
            out += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.4" fill="{colour}"/>'
                    for x, y in points]
        return out


def legend(panel):
    """The names of the lines, in a row under the title."""
    out = []
    x = LEFT
    for i, name in enumerate(panel.series):
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<line x1="{x}" y1="42" x2="{x + 20}" y2="42" stroke="{colour}" '
                   f'stroke-width="3"/><text x="{x + 26}" y="46">{html.escape(name)}</text>')
        x += 44 + 6.5 * len(name)
    return out


def draw(title, panels):
    """`panels` ([Panel]) side by side under one title; they have the same series."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(panels)}" '
           f'height="{HEIGHT}" viewBox="0 0 {WIDTH * len(panels)} {HEIGHT}">',
           f"<style>{STYLE}</style>",
           f'<text x="{LEFT}" y="24" class="head">{html.escape(title)}</text>', *legend(panels[0])]
    for i, panel in enumerate(panels):
        out += panel.draw(WIDTH * i)
    return "\n".join(out + ["</svg>", ""])
