"""The documents of a furnished folder: a workbook, a text with a table, a page, an archive."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from html import escape
from io import BytesIO

from mcp_conformance.world.furniture.texts import ROWS, TEXT

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument."
SHEET, TOTALS = "Sheet1", "Totals"
"""The names of the sheets in the workbook: that with the items comes first."""
MOMENT = (2025, 3, 3, 9, 0, 0)
"""When the files in archives were written."""


def documents() -> dict[str, bytes]:
    """Return the contents of the documents by their name."""
    return {
        "example.xlsx": workbook(),
        "example.docx": text_document(),
        "example.pdf": page(),
        "example.zip": archive({"example.txt": TEXT, "notes/first.txt": "The apples are ripe.\n"}),
    }


def archive(files: Mapping[str, str]) -> bytes:
    """Return a ZIP archive with these texts; the same texts make the same bytes."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in files.items():
            about = zipfile.ZipInfo(name, MOMENT)
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            opened.writestr(about, text)
    return written.getvalue()


# Office Open XML ---------------------------------------------------------------------------------


def _package(main: str, kind: str, parts: Mapping[str, tuple[str, str]], others: Mapping[str, str]) -> bytes:
    """Return an Office file: ``main`` is the path of its main part, ``parts`` are content types and texts."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPES}{type}+xml"/>' for name, (type, _) in parts.items()
    )
    types = (
        f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f"{overrides}</Types>"
    )
    folder, _, name = main.rpartition("/")
    inner = {f"{folder}/_rels/{name}.rels": _relationships(others)} if others else {}
    texts = {
        "[Content_Types].xml": types,
        "_rels/.rels": _relationships({main: kind}),
        **inner,
        **{path: text for path, (_, text) in parts.items()},
    }
    return archive(texts)


def _relationships(targets: Mapping[str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(targets.items(), 1)
    )
    return f'{XML}<Relationships xmlns="{PACKAGE}/relationships">{rows}</Relationships>'


def workbook() -> bytes:
    """Return an XLSX file with the items in one sheet, and a formula over their quantities in another."""
    quantities = [quantity for _, quantity, _ in ROWS[1:]]
    cells = [_cell(f"B{number}", quantity) for number, quantity in enumerate(quantities, 2)]
    sums = [f'<c r="A1"><f>SUM(B2:B{len(ROWS)})</f><v>{sum(quantities)}</v></c>', *cells]
    sheets = {
        SHEET: [_row(number, row) for number, row in enumerate(ROWS, 1)],
        TOTALS: [f'<row r="{number}">{cell}</row>' for number, cell in enumerate(sums, 1)],
    }
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    book = f'{XML}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    styles = (
        f'{XML}<styleSheet xmlns="{MAIN}">'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )
    parts = {
        "xl/workbook.xml": ("spreadsheetml.sheet.main", book),
        "xl/styles.xml": ("spreadsheetml.styles", styles),
    }
    others = {}
    used = {SHEET: f"A1:C{len(ROWS)}", TOTALS: f"A1:B{len(ROWS)}"}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        # The dimension is optional, but office programs write it, and some libraries take a sheet without it
        # for an empty one.
        content = f'<dimension ref="{used[name]}"/><sheetData>{"".join(rows)}</sheetData>'
        sheet = f'{XML}<worksheet xmlns="{MAIN}">{content}</worksheet>'
        parts[f"xl/worksheets/sheet{number}.xml"] = ("spreadsheetml.worksheet", sheet)
        others[f"worksheets/sheet{number}.xml"] = "worksheet"
    return _package("xl/workbook.xml", "officeDocument", parts, {**others, "styles.xml": "styles"})


def _row(number: int, row: tuple[object, ...]) -> str:
    cells = "".join(_cell(f"{column}{number}", value) for column, value in zip("ABC", row, strict=True))
    return f'<row r="{number}">{cells}</row>'


def _cell(place: str, value: object) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def text_document() -> bytes:
    """Return a DOCX file with a heading, paragraphs and a table of the items."""
    cells = "".join(f"<w:tr>{''.join(map(_table_cell, row))}</w:tr>" for row in ROWS)
    columns = '<w:gridCol w:w="2400"/>' * len(ROWS[0])
    paragraphs = "".join(map(_paragraph, filter(None, TEXT.splitlines())))
    body = (
        f'{XML}<w:document xmlns:w="{WORDS}"><w:body>{_paragraph("Shop", "Heading1")}{paragraphs}'
        f"<w:tbl><w:tblPr/><w:tblGrid>{columns}</w:tblGrid>{cells}</w:tbl><w:p/><w:sectPr/></w:body></w:document>"
    )
    styles = (
        f'{XML}<w:styles xmlns:w="{WORDS}">'
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
        '<w:basedOn w:val="Normal"/></w:style>'
        '<w:style w:type="table" w:default="1" w:styleId="TableNormal">'
        '<w:name w:val="Normal Table"/></w:style>'
        "</w:styles>"
    )
    parts = {
        "word/document.xml": ("wordprocessingml.document.main", body),
        "word/styles.xml": ("wordprocessingml.styles", styles),
    }
    return _package("word/document.xml", "officeDocument", parts, {"styles.xml": "styles"})


def _paragraph(text: str, style: str = "") -> str:
    about = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{about}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def _table_cell(value: object) -> str:
    return f'<w:tc><w:tcPr><w:tcW w:w="2400" w:type="dxa"/></w:tcPr>{_paragraph(str(value))}</w:tc>'


# PDF ---------------------------------------------------------------------------------------------


def page() -> bytes:
    """Return a PDF file with a page of text."""
    lines = " ".join(f"({line}) Tj T*" for line in ("Shop", *TEXT.splitlines()))
    shown = f"BT /F1 12 Tf 16 TL 72 720 Td {lines} ET".encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font %b >> >>"
        % b"<< /F1 5 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(shown), shown),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (Shop) /CreationDate (D:20250303090000Z) >>",
    )
    # The bytes above 127 in the second line say that the file is not text.
    written, starts = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, one in enumerate(objects, 1):
        starts.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size
    table += b"".join(b"%010d 00000 n \n" % start for start in starts)
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(written))
    return written + table + end
