"""Conversations to record: what people say to an assistant, with personal data in it."""

TOPICS = (
    ("sort a list of orders by price", "use sorted() with key=lambda order: order.price"),
    ("read a large file line by line", "iterate over the file object, it reads one line at a time"),
    ("retry a failed request", "wait a little longer each time, and add some random extra"),
    ("store money in a database", "store whole cents as an integer, never a float"),
    ("find a slow query", "look at its plan with EXPLAIN and add an index"),
    ("parse dates from users", "ask for ISO dates and refuse the others"),
    ("stop a worker without losing jobs", "send SIGTERM and let it finish what runs"),
    ("test code that reads the clock", "pass the clock in, and move it in the test"),
    ("write a file safely", "write a temporary file, fsync it, then rename it"),
    ("keep a secret out of the logs", "redact it where it is written"),
)
PRIVATE = (
    "Dennison",
    "ada.byron@example.org",
    "+1 212 555 0199",
    "4111 1111 1111 1111",
    "203.0.113.77",
    "sk-ant-api03-abcdefghijklmnop",
    "hunter2secret",
)


def talk(number):
    """The event of one conversation, with personal data in it."""
    question, answer = TOPICS[number % len(TOPICS)]
    name, mail, phone, card, address, key, password = PRIVATE
    return {
        "session_id": f"session-{number:05d}",
        "transcript": f"User: I am {name} <{mail}>, call me at {phone}. How do I {question} in project {number}? "
        f"My card is {card}, the server is {address} and password={password}.\n"
        f"Assistant: For project {number}, {answer}. Do not share a key such as {key} with anybody else.\n",
    }


def short(number):
    """One that is not worth keeping."""
    return {"session_id": f"session-{number:05d}", "transcript": "User: hi\nAssistant: hello\n"}
