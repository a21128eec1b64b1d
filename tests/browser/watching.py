"""What goes wrong in pages: errors, words of the console, violations of the policy, requests that fail."""

# Reported to the page itself, because Chromium tells the console only of some.
REPORT = "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));"


class Watched:
    """The pages of a test, and what went wrong in them."""

    def __init__(self):
        self._found, self._forgiven = [], []

    def watch(self, page):
        """Listen to a page."""
        page.add_init_script(REPORT)
        page.on("pageerror", lambda error: self._add("error", error.stack or error.message))
        page.on("console", lambda said: said.type in ("error", "warning") and self._add("console", said.text))
        page.on("requestfailed", self._failed)
        page.on(
            "response",
            lambda response: response.status >= 400 and self._add("response", f"{response.status} {response.url}"),
        )
        page.on("dialog", self._dialog)

    def _failed(self, request):
        # A stream is ended by the page itself when its paths change; a request, when the page goes on to another place.
        if request.failure != "net::ERR_ABORTED":
            self._add("request", f"{request.url}: {request.failure}")

    def _dialog(self, dialog):
        self._add("dialog", dialog.message)
        dialog.dismiss()

    def _add(self, kind, text):
        self._found.append(f"{kind}: {text}")

    def forgive(self, *parts):
        """Expect what contains one of these texts."""
        self._forgiven += parts

    def wrong(self):
        """What went wrong and was not expected."""
        return [each for each in self._found if not any(part in each for part in self._forgiven)]
