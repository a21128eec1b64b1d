"""What users do with requirements: each action records its jobs first, and the jobs do the rest."""

import json

from .jobs import DATA, cloud, documents, prompts

SYSTEM = "You extract requirements. Answer with one short sentence."


def path_of(requirement_id):
    return f"requirements/{requirement_id}.json"


def save(requirement_id, title, text, *, overwrite=False, after=()):
    """Write the document of a requirement: the job is accepted, or the action is not."""
    content = json.dumps({"id": requirement_id, "title": title, "text": text}, indent=2, ensure_ascii=False) + "\n"
    options = documents.create_file.options(ref=requirement_id, after=after)
    return options.enqueue(path_of(requirement_id), content, overwrite=overwrite)


def remove(requirement_id, *, after=()):
    """Delete the document of a requirement."""
    return documents.delete_file.options(ref=requirement_id, after=after).enqueue(path_of(requirement_id))


def read(requirement_id):
    """The document of a requirement: files are the data, SQLite only knows the jobs."""
    return json.loads((DATA / path_of(requirement_id)).read_text(encoding="utf-8"))


def prompt_for(document):
    """The prompt is made from the document, and frozen in the job."""
    return f"{document['title']}: {document['text']}\n\nWhat must the system do?"


def extract(document):
    """Ask Claude about a requirement. An equal question that waits or runs is not asked twice."""
    return prompts.ask(
        prompt_for(document), system=SYSTEM, target=f"extracted/{document['id']}.txt", requirement=document["id"]
    )


def provision(resource_type, resource_id, config=None, *, action="apply", after=()):
    """Create, update or delete an AWS resource, as its whole specification says."""
    options = cloud.sync_aws.options(after=after, ref=resource_id)
    return options.enqueue(resource_type, resource_id, config, action=action)
