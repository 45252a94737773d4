"""Small files that ask for much: makers of archives, pages, dumps and PDFs that no reader should
trust.
"""

from __future__ import annotations

import io
import zlib
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SENTENCE = "The Vasa sank in 1628."
PARAGRAPH = f"<w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/>'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>'
)
RELATIONS = (
    f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
LAUGHS = (
    '<!DOCTYPE d [<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)
CONTAINER = '<container><rootfiles><rootfile full-path="text/book.opf"/></rootfiles></container>'


# Archives


def archive(path, members, *, compression=ZIP_DEFLATED):
    with ZipFile(path, "w", compression) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return path


def document_xml(body=PARAGRAPH, *, head=""):
    return f'{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'


def office(document=None, **members):
    """The members of a DOCX."""
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "word/document.xml": document or document_xml(),
    }
    return parts | members


def nested_tables(depth):
    return "<w:tbl><w:tr><w:tc>" * depth + PARAGRAPH + "</w:tc></w:tr></w:tbl>" * depth


def book(count, *, listed=None, chapter=f"<html><body><p>{SENTENCE}</p></body></html>"):
    """The members of an EPUB with so many chapters; `listed` are their numbers in the order of
    reading.
    """
    listed = range(count) if listed is None else listed
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml"/>' for n in range(count))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in listed)
    package = f"<package><metadata/><manifest>{items}</manifest><spine>{spine}</spine></package>"
    chapters = {f"text/c{n}.xhtml": chapter for n in range(count)}
    return {"META-INF/container.xml": CONTAINER, "text/book.opf": package, **chapters}


def with_smaller_size(content, name, size):
    """An archive whose directory understates the size of a member that is deflated."""
    with ZipFile(io.BytesIO(content)) as source:
        stated = source.getinfo(name).file_size.to_bytes(4, "little")
    assert content.count(stated) == 2, "before the member and in the directory"
    return content.replace(stated, size.to_bytes(4, "little"))


def zip_bytes(members, *, compression=ZIP_STORED):
    out = io.BytesIO()
    archive(out, members, compression=compression)
    return out.getvalue()


# PDFs

FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
TEXT = b"BT /F1 11 Tf 72 700 Td (The Vasa sank in 1628.) Tj ET\n"


def pdf(objects):
    """A PDF of these objects, the first of which is the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += (
            b"%d 0 obj\n" % number
            + (content if isinstance(content, bytes) else content.encode())
            + b"\nendobj\n"
        )
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def stream(data, fields="/Filter /FlateDecode"):
    """A stream of packed data."""
    return f"<< /Length {len(data)} {fields} >>\nstream\n".encode() + data + b"\nendstream"


def packed(data, fields=""):
    return stream(zlib.compress(data, 9), f"/Filter /FlateDecode {fields}")


def pages(count, content, *, font=FONT, resources="", further=()):
    """The objects of a PDF, all pages of which have the content of object 4; further objects follow
    that.
    """
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", font, content, *further]
    first = len(objects) + 1
    resources = f"/Font << /F1 3 0 R >> {resources}"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << "
        f"{resources} >> >>"
    )
    kids = " ".join(f"{first + number} 0 R" for number in range(count))
    objects[1] = f"<< /Type /Pages /Count {count} /Kids [{kids}] >>"
    return objects + [page] * count


def zeros(size):
    """So many zeros, packed."""
    packer = zlib.compressobj(9)
    piece = bytes(1 << 20)
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


WIDE_FONT = (
    "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype "
    "/CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
    "/FontDescriptor << /Type /FontDescriptor /FontName /X /Flags 4 >> /W [0 4294967295 500] >>] >>"
)
MAPPED_FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 5 0 R >>"
MAPPING = (
    b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00000000> <FFFFFFFF> endcodespacerange "
    b"1 beginbfrange <00000000> <FFFFFFFF> <0000> endbfrange endcmap end"
)


def forms(levels):
    """Objects of forms, each of which draws the next one ten times, from object 5 on."""
    objects = []
    for number in range(5, 5 + levels):
        following = min(number + 1, 4 + levels)
        content = b"/X%d Do " % following * 10 if following > number else TEXT
        resources = f"/Font << /F1 3 0 R >> /XObject << /X{following} {following} 0 R >>"
        fields = f"/Type /XObject /Subtype /Form /BBox [0 0 600 900] /Resources << {resources} >>"
        objects.append(packed(content, fields))
    return objects


def scattered_words(count):
    """The content of a page of words in places without order, which pdfminer compares pair by
    pair.
    """
    return b"".join(
        b"BT /F1 1 Tf %d %d Td (w%d) Tj ET\n" % (n * 7919 % 590, n * 104729 % 840, n)
        for n in range(count)
    )
