"""What is read out of a CV: the text of a PDF, and which of the values that a model found are not in it."""

import re

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, PyPdfError

from mainstay import Permanent

MOST_PAGES = 30
ADDRESS = re.compile(r"[^\s@<>,;:\"()]+@[^\s@<>,;:\"()]+\.[^\s@<>,;:\"()]+")


def text_of(path):
    """Return the text of a PDF and the number of its pages; what no attempt can read raises `Permanent`."""
    try:
        pages = PdfReader(path).pages
        if len(pages) > MOST_PAGES:
            raise Permanent(
                f"the file has {len(pages)} pages, at most {MOST_PAGES} are read: ask for a shorter CV", code="too-long"
            )
        return "\n".join(page.extract_text() for page in pages).strip(), len(pages)
    except FileNotFoundError:
        raise Permanent("the file is not there: upload it again with POST /cvs", code="no-file") from None
    except FileNotDecryptedError:
        raise Permanent("the file is protected by a password; ask for a copy without one", code="encrypted") from None
    except PyPdfError as error:
        raise Permanent(f"the file is no PDF that can be read: {error}; ask for another", code="not-a-pdf") from None


def uncertain(structured, text):
    """Return the fields that a person has to look at: those whose value is empty or not in the text, or no address."""
    known = plain(text)
    invented = [name for name, value in structured.items() if not value.strip() or plain(value) not in known]
    bad = [] if ADDRESS.fullmatch(structured["email"].strip()) else ["email"]
    return sorted({*invented, *bad})


def plain(text):
    return " ".join(text.split()).casefold()
