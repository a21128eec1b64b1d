"""CVs as people send them: a good one, one without an address, a scan, one with a password, a file that is no PDF."""

import io

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen import canvas

ANNA = ("Anna Berg", "anna.berg@example.org", "2019-2024 Senior Engineer, Nordlys AS", "Python, PostgreSQL")
LENA = ("Lena Fischer", "2020-2026 Project Lead, Hafen GmbH", "planning, budgets")  # she gives no address


def cv(*lines, password=None, pages=1):
    """A PDF with these lines on each page; with a password if there is one."""
    file = io.BytesIO()
    lock = StandardEncryption(password, strength=128) if password else None
    sheet = canvas.Canvas(file, encrypt=lock, invariant=1)
    for _ in range(pages):
        for n, line in enumerate(lines):
            sheet.drawString(60, 780 - 20 * n, line)
        sheet.showPage()
    sheet.save()
    return file.getvalue()


def scan():
    """A page with shapes and no text."""
    file = io.BytesIO()
    sheet = canvas.Canvas(file, invariant=1)
    for n in range(12):
        sheet.rect(60, 700 - 30 * n, 300 - 9 * n, 12, fill=1)
    sheet.showPage()
    sheet.save()
    return file.getvalue()


def person(number):
    """The lines of a CV, and what is in them."""
    found = {"name": f"Ida Moe {number}", "email": f"ida{number}@example.org", "title": "Surveyor"}
    return list(found.values()), found
