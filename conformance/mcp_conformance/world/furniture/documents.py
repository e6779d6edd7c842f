"""The documents of a furnished folder: a workbook, a text with a table, slides, a page, an archive."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import PurePosixPath

from mcp_conformance.world.furniture.texts import ROWS, TEXT

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument."
SHEET, TOTALS = "Sheet1", "Totals"
"""The names of the sheets in the workbook: that with the items comes first."""
COLOURS = {
    "dk1": "000000",
    "lt1": "FFFFFF",
    "dk2": "44546A",
    "lt2": "E7E6E6",
    **{f"accent{number}": "4472C4" for number in range(1, 7)},
    "hlink": "0563C1",
    "folHlink": "954F72",
}
"""The colours of the theme of a presentation, in the order that its schema demands."""
MAPPED = {
    "bg1": "lt1",
    "tx1": "dk1",
    "bg2": "lt2",
    "tx2": "dk2",
    **{name: name for name in list(COLOURS)[4:]},
}
"""The colours of a slide, by those of the theme."""
MOMENT = (2025, 3, 3, 9, 0, 0)
"""When the files in archives were written."""


def documents() -> dict[str, bytes]:
    """Return the contents of the documents by their name."""
    return {
        "example.xlsx": workbook(),
        "example.docx": text_document(),
        "example.pptx": presentation(),
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


def _package(
    main: str, parts: Mapping[str, tuple[str, str]], others: Mapping[str, Mapping[str, str]]
) -> bytes:
    """Return an Office file: ``main`` is the path of its main part, ``parts`` are content types and texts.

    ``others`` are the relationships of parts by their paths: targets and kinds.
    """
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPES}{type}+xml"/>' for name, (type, _) in parts.items()
    )
    types = (
        f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f"{overrides}</Types>"
    )
    texts = {
        "[Content_Types].xml": types,
        "_rels/.rels": _relationships({main: "officeDocument"}),
        **{
            f"{PurePosixPath(path).parent}/_rels/{PurePosixPath(path).name}.rels": _relationships(targets)
            for path, targets in others.items()
        },
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
    return _package("xl/workbook.xml", parts, {"xl/workbook.xml": {**others, "styles.xml": "styles"}})


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
    return _package("word/document.xml", parts, {"word/document.xml": {"styles.xml": "styles"}})


def _paragraph(text: str, style: str = "") -> str:
    about = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{about}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def _table_cell(value: object) -> str:
    return f'<w:tc><w:tcPr><w:tcW w:w="2400" w:type="dxa"/></w:tcPr>{_paragraph(str(value))}</w:tc>'


def presentation() -> bytes:
    """Return a PPTX file with a slide that has a title and the text; its master and its theme are plain."""
    paragraphs = "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in TEXT.splitlines())
    title = _shape(2, "Title", "title", "<a:p><a:r><a:t>Shop</a:t></a:r></a:p>")
    shown = _tree(title + _shape(3, "Content", "body", paragraphs))
    blank = _tree(_shape(2, "Title", "title", "<a:p/>") + _shape(3, "Content", "body", "<a:p/>"))
    listed = (
        '<p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst>'
        '<p:sldIdLst><p:sldId id="256" r:id="rId2"/></p:sldIdLst>'
        '<p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/>'
    )
    mapped = " ".join(f'{name}="{colour}"' for name, colour in MAPPED.items())
    layouts = '<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/></p:sldLayoutIdLst>'
    own = "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>"
    layout, master = "slideLayouts/slideLayout1.xml", "slideMasters/slideMaster1.xml"
    parts = {
        "ppt/presentation.xml": _slides("presentation", listed, kind="presentation.main"),
        "ppt/slides/slide1.xml": _slides("sld", shown + own, kind="slide"),
        f"ppt/{layout}": _slides("sldLayout", blank + own, kind="slideLayout"),
        f"ppt/{master}": _slides("sldMaster", f"{blank}<p:clrMap {mapped}/>{layouts}", kind="slideMaster"),
        "ppt/theme/theme1.xml": ("theme", XML + _theme()),
    }
    others = {
        "ppt/presentation.xml": {master: "slideMaster", "slides/slide1.xml": "slide"},
        "ppt/slides/slide1.xml": {f"../{layout}": "slideLayout"},
        f"ppt/{layout}": {f"../{master}": "slideMaster"},
        f"ppt/{master}": {f"../{layout}": "slideLayout", "../theme/theme1.xml": "theme"},
    }
    return _package("ppt/presentation.xml", parts, others)


def _slides(name: str, content: str, *, kind: str) -> tuple[str, str]:
    """Return the type and the text of a part of a presentation, whose element has this name."""
    names = f'xmlns:a="{DRAWING}" xmlns:r="{OFFICE}" xmlns:p="{SLIDES}"'
    return f"presentationml.{kind}", f"{XML}<p:{name} {names}>{content}</p:{name}>"


def _tree(shapes: str) -> str:
    """Return the content of a slide with these shapes."""
    about = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    return f"<p:cSld><p:spTree>{about}{shapes}</p:spTree></p:cSld>"


def _shape(number: int, name: str, kind: str, paragraphs: str) -> str:
    """Return the shape of a placeholder with its place on the slide."""
    index = "" if kind == "title" else ' idx="1"'
    top = 274638 if kind == "title" else 1600200
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{name}"/><p:cNvSpPr/>'
        f'<p:nvPr><p:ph type="{kind}"{index}/></p:nvPr></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="457200" y="{top}"/><a:ext cx="8229600" cy="1143000"/></a:xfrm>'
        f'<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        f"<p:txBody><a:bodyPr/><a:lstStyle/>{paragraphs}</p:txBody></p:sp>"
    )


def _theme() -> str:
    """Return a theme with the parts that each must have."""
    colours = "".join(f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>' for name, value in COLOURS.items())
    font = '<a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    line = f'<a:ln w="6350">{fill}</a:ln>'
    effect = "<a:effectStyle><a:effectLst/></a:effectStyle>"
    return (
        f'<a:theme xmlns:a="{DRAWING}" name="Shop"><a:themeElements>'
        f'<a:clrScheme name="Shop">{colours}</a:clrScheme>'
        f'<a:fontScheme name="Shop"><a:majorFont>{font}</a:majorFont><a:minorFont>{font}</a:minorFont>'
        f'</a:fontScheme><a:fmtScheme name="Shop"><a:fillStyleLst>{fill * 3}</a:fillStyleLst>'
        f"<a:lnStyleLst>{line * 3}</a:lnStyleLst><a:effectStyleLst>{effect * 3}</a:effectStyleLst>"
        f"<a:bgFillStyleLst>{fill * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
    )


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
