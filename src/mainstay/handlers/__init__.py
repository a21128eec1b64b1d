"""Job types that come with the package; each module registers its own with one call: `files.register(app, roots=["data"])`.

A module imports the libraries it needs when a job runs, never when it is imported: installing and loading mainstay does not depend on them.
"""
