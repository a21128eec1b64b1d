"""The order of the tests: what fails fast runs first. Nothing is left out."""

from pathlib import Path

FOLDERS = ["unit", "repo", "contract"]  # then the others by name, then everything marked slow


def pytest_collection_modifyitems(items):
    items.sort(key=place)


def place(item):
    folder = Path(item.path).relative_to(Path(__file__).parent).parts[0]
    early = FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)
    return bool(item.get_closest_marker("slow")), early, folder
