"""Write `examples/data/tide-gauges.pdf`, the report that the example of document processing reads.

    python tools/sample_pdf.py

A PDF by hand: two pages of text in standard fonts, one ruled table with a header of two rows,
headers and page numbers.
"""

from __future__ import annotations

from pathlib import Path

OUTPUT = Path(__file__).resolve().parent.parent / "examples" / "data" / "tide-gauges.pdf"

_WIDTH, _HEIGHT = 595, 842
_PLAIN, _BOLD = "F1", "F2"

PAGES = [
    [
        (_PLAIN, 8, 72, 40, ["Coastal Survey of Varnholm · Annual report"]),
        (_BOLD, 20, 72, 90, ["Tide Gauges of the Varnholm Coast"]),
        (_BOLD, 14, 72, 130, ["1 The gauges"]),
        (
            _PLAIN,
            11,
            72,
            155,
            [
                "The survey runs four tide gauges between Varnholm and the mouth of the river "
                "Sund. Each",
                "one stands in a well of concrete that lets the tide in and keeps the waves out. "
                "A float meas-",
                "ures the level every six minutes, and a radar beside it checks the float once an "
                "hour.",
            ],
        ),
        (
            _PLAIN,
            11,
            72,
            215,
            [
                "The gauge at Krum Point was moved 40 metres inland in 2019, after a storm had "
                "washed out",
                "its well. Its zero was levelled again against the bench mark at the lighthouse, "
                "so that the",
                "levels before and after the move can be compared.",
            ],
        ),
        (_BOLD, 14, 72, 290, ["2 Levels"]),
        (
            _PLAIN,
            11,
            72,
            315,
            [
                "Table 1 gives the highest and the mean level of two years. The highest level of "
                "both years was",
                "read at Sund Mouth during the gale of 3 November 2022.",
            ],
        ),
        (_PLAIN, 9, 72, 520, ["Table 1: Levels in centimetres above the zero of each gauge."]),
        (_PLAIN, 8, 290, 805, ["1"]),
    ],
    [
        (_PLAIN, 8, 72, 40, ["Coastal Survey of Varnholm · Annual report"]),
        (_BOLD, 14, 72, 90, ["3 Care of the wells"]),
        (
            _PLAIN,
            11,
            72,
            115,
            [
                "Divers clean the wells every spring. In 2022 they took 310 kilograms of mussels "
                "out of the well",
                "at Varnholm, the most since the gauge was built in 1954. A copper ring at each "
                "inlet has kept",
                "weed away since then, and the survey plans to fit a second ring at Sund Mouth.",
            ],
        ),
        (_PLAIN, 8, 290, 805, ["2"]),
    ],
]

COLUMNS = (72, 192, 282, 372, 462, 523)
ROW_HEIGHT, TABLE_TOP = 22, 370
HEADER = [("Gauge", 0, 1, 0, 2), ("2021", 1, 3, 0, 1), ("2022", 3, 5, 0, 1)]
HEADER += [
    ("Highest", 1, 2, 1, 2),
    ("Mean", 2, 3, 1, 2),
    ("Highest", 3, 4, 1, 2),
    ("Mean", 4, 5, 1, 2),
]
ROWS = [
    ("Varnholm", "214", "121", "236", "122"),
    ("Krum Point", "198", "117", "221", "119"),
    ("Sund Mouth", "243", "130", "271", "133"),
    ("Ostra Skerry", "176", "104", "190", "104"),
]


def make_pdf() -> bytes:
    """Return the report as a PDF."""
    streams = ["\n".join(_lines(page)) for page in PAGES]
    streams[0] += "\n" + "\n".join(_table())
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(streams)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>")
    objects += [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
        for name in ("Helvetica", "Helvetica-Bold")
    ]
    for number, stream in enumerate(streams):
        resources = f"<< /Font << /{_PLAIN} 3 0 R /{_BOLD} 4 0 R >> >>"
        box = f"[0 0 {_WIDTH} {_HEIGHT}]"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Resources {resources} /Contents "
            f"{6 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream")
    body = b"%PDF-1.4\n"
    offsets = []
    for number, text in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    )
    return body + f"{trailer}startxref\n{len(body)}\n%%EOF\n".encode("ascii")


def _lines(page: list[tuple[str, int, int, int, list[str]]]) -> list[str]:
    return [
        _text(line, font, size, left, top + round(1.35 * size) * number)
        for font, size, left, top, lines in page
        for number, line in enumerate(lines)
    ]


def _table() -> list[str]:
    cells = [*HEADER]
    cells += [
        (text, column, column + 1, row, row + 1)
        for row, texts in enumerate(ROWS, 2)
        for column, text in enumerate(texts)
    ]
    drawn = []
    for text, left, right, top, bottom in cells:
        x, y = COLUMNS[left], TABLE_TOP + ROW_HEIGHT * top
        width, height = COLUMNS[right] - x, ROW_HEIGHT * (bottom - top)
        drawn.append(f"0.7 w {x} {_HEIGHT - y - height} {width} {height} re S")
        drawn.append(_text(text, _BOLD if top < 2 else _PLAIN, 10, x + 5, y + height - 7))
    return drawn


def _text(text: str, font: str, size: int, left: int, top: int) -> str:
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /{font} {size} Tf {left} {_HEIGHT - top} Td ({escaped}) Tj ET"


if __name__ == "__main__":
    OUTPUT.write_bytes(make_pdf())
    print(OUTPUT)
