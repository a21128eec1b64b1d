"""The application whose jobs run while pages of its dashboard are open."""

from mainstay import Mainstay

app = Mainstay()


@app.job
def noop() -> None:
    """Do nothing."""
