"""The report of a month, as a PDF: the same bytes each time it is made from the same profiles."""

import os
import re

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas
from sqlalchemy import select
from sqlalchemy.orm import Session

from examples.document_desk.database import Profile, engine
from mainstay import Permanent, ctx

MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
LINES = 40  # of a page


def written(folder, month):
    """Write the report; return its name, pages, candidates and bytes. The file is whole or not there."""
    if not MONTH.fullmatch(month):
        raise Permanent(f"month={month!r:.40}: give a year and a month, such as 2026-05", code="month")
    people = candidates(month)
    path, part = folder / f"{month}.pdf", folder / f".{month}.{ctx.id}.part"
    try:
        pages = drawn(part, month, people)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return {
        "report": f"/files/reports/{path.name}",
        "pages": pages,
        "candidates": len(people),
        "bytes": path.stat().st_size,
    }


def candidates(month):
    with Session(engine) as session:
        return list(session.scalars(select(Profile).where(Profile.month == month).order_by(Profile.id)))


def drawn(path, month, people):
    """Draw the pages; return how many they are."""
    lines = [f"{each.id}  {each.status}  {each.name}  {each.title}" for each in people] or ["Nobody has sent a CV."]
    chunks = [lines[first : first + LINES] for first in range(0, len(lines), LINES)]
    with path.open("wb") as file:
        page = canvas.Canvas(file, pagesize=A4, invariant=1)
        for number, chunk in enumerate(chunks, 1):
            page.drawString(60, 790, f"Candidates of {month}, page {number} of {len(chunks)}")
            for n, line in enumerate(chunk):
                page.drawString(60, 760 - 17 * n, line)
            page.showPage()
            ctx.progress(number, len(chunks))
        page.save()
        file.flush()
        os.fsync(file.fileno())
    return len(chunks)
