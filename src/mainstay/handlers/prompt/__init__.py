"""Ask a language model: a job with a frozen prompt, and `Model` for handlers of your own.

`register` makes the job type. `Model` asks through the SDK of Anthropic or OpenAI, or through a command such as `claude`.
"""

from .answer import Answer, BadAnswer, Limited, ModelError, Unavailable
from .command import Command, claude
from .model import Model
from .registration import Prompts, register

__all__ = [
    "Answer", "BadAnswer", "Command", "Limited", "Model", "ModelError", "Prompts", "Unavailable", "claude", "register",
]  # fmt: skip
