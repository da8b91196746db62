"""Feeds the recorded outputs of the OpenAI front to the types of OpenAI's own Python library, strictly.

Each member must be declared by the type or be one of our extensions. Checked with `openai` 3.54.0, November 2026.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pydantic
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseItemList, ResponseStreamEvent

# Members that OpenAI does not have, by the type that they are in.
EXTENSIONS = {
    "ChatCompletionMessage": {"reasoning_content", "events"},
    "ChoiceDelta": {"reasoning_content"},
    "ChatCompletionChunk": {"event"},
    "CompletionUsage": {"cost"},
    "ResponseUsage": {"cost"},
    "Model": {"description"},
    # OpenAI and the Open Responses specification have it, this type does not.
    "Response": {"store"},
}
WHOLE = {"chat": ChatCompletion, "response": Response, "model": Model, "items": ResponseItemList}


def extras(value: Any, path: str):
    """Yields each member that the types do not declare."""
    if isinstance(value, pydantic.BaseModel):
        name = type(value).__name__
        for key in value.model_extra or {}:
            if key not in EXTENSIONS.get(name, ()):
                yield f"{path}.{key} is not a member of {name}"
        for key in value.model_fields_set:
            if hasattr(value, key):
                yield from extras(getattr(value, key), f"{path}.{key}")
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from extras(one, f"{path}[{index}]")


def check(kind: Any, data: Any, path: str):
    try:
        value = pydantic.TypeAdapter(kind).validate_python(data, strict=True)
    except pydantic.ValidationError as error:
        return [f"{path}: {error}"]
    return list(extras(value, path))


def events(text: str):
    for event in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in event.split("\n") if line)
        if lines.get("data") not in (None, "[DONE]"):
            yield lines.get("event"), json.loads(lines["data"])


def main(directory: Path) -> int:
    problems, count = [], 0
    for file in sorted(directory.iterdir()):
        text, name = file.read_bytes().decode(), file.name
        if name.endswith(".sse"):
            for index, (named, data) in enumerate(events(text)):
                kind = ChatCompletionChunk if name.startswith("chat") else ResponseStreamEvent
                problems += check(kind, data, f"{name}[{index}]")
                if not name.startswith("chat"):
                    if named != data["type"] or data["sequence_number"] != index:
                        problems.append(f"{name}[{index}]: its name or its number is wrong")
                count += 1
        else:
            problems += check(WHOLE[name.split(".")[0].split("_")[0]], json.loads(text), name)
            count += 1
    print("\n".join(problems) or f"{count} objects are valid")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
