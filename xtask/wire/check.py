"""Holds requests against the types of the vendors' own clients.

usage: check.py FOLDER…    each file `DIALECT-*.json` holds the body of one request

Prints what is refused, one line each, and how many were looked at. Exit 1 if something is refused, or if a body that is
broken on purpose is not.
"""

import copy
import json
import pathlib
import sys

import anthropic.types
import openai.types.chat
import openai.types.responses
from google.genai import types as gemini
from ollama._types import ChatRequest, Message
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import is_typeddict


def forbid_unknown_keys(package):
    """Their types are dictionaries, which take any key; a server does not."""
    seen = set()
    modules = [module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")]
    for module in modules:
        for value in vars(module).values():
            if is_typeddict(value) and value not in seen:
                seen.add(value)
                value.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


def drained(value):
    """An iterable is checked only while it is read."""
    if isinstance(value, dict):
        return {key: drained(inner) for key, inner in value.items()}
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return value
    return [drained(inner) for inner in value]


def typed(union):
    adapter = TypeAdapter(union)
    return lambda body: drained(adapter.validate_python(body))


def without(mapping, keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def anthropic_request(body):
    """The newest types have no sampling any more; the older version of the API, which is live, has."""
    ANTHROPIC(without(body, {"temperature", "top_p"}))


def chat_request(body):
    """Compatible servers take back the reasoning that they sent with tool calls; OpenAI's own server never sends any."""

    def plain(message):
        return without(message, {"reasoning", "reasoning_content"}) if message.get("tool_calls") else message

    CHAT(body | {"messages": [plain(message) for message in body["messages"]]})


def openrouter_request(body):
    """OpenAI's wire with keys of its own."""
    body = without(body, {"cache_control", "models"})
    body["messages"] = [without(message, {"reasoning_details"}) for message in body["messages"]]
    chat_request(body)


def gemini_request(body):
    parts = {
        "contents": list[gemini.Content],
        "systemInstruction": gemini.Content,
        "tools": list[gemini.Tool],
        "toolConfig": gemini.ToolConfig,
        "safetySettings": list[gemini.SafetySetting],
        "generationConfig": gemini.GenerationConfig,
    }
    for key, value in body.items():
        if key not in parts:
            raise ValueError(f"unknown key `{key}`")
        TypeAdapter(parts[key]).validate_python(value)


# Its server's own types (`api/types.go` of ollama/ollama) have these, the client does not yet.
OLLAMA_NEWER = {"shift", "truncate", "tool_call_id", "id"}


def ollama_request(body):
    body = without(body, OLLAMA_NEWER)
    body["messages"] = [without(message, OLLAMA_NEWER) for message in body["messages"]]
    for message in body["messages"]:
        # The client writes them as text, and reads them as an object of its own.
        if images := message.get("images"):
            message["images"] = [{"value": image} for image in images]
    for model, value in [(ChatRequest, body), *((Message, message) for message in body["messages"])]:
        if unknown := set(value) - set(model.model_fields):
            raise ValueError(f"unknown keys {sorted(unknown)}")
        model.model_validate(value)


for package in ("anthropic.types", "openai.types"):
    forbid_unknown_keys(package)

ANTHROPIC = typed(anthropic.types.message_create_params.MessageCreateParams)
CHAT = typed(openai.types.chat.completion_create_params.CompletionCreateParams)
CHECKS = {
    "anthropic": anthropic_request,
    "openrouter": openrouter_request,
    "chat": chat_request,
    "responses": typed(openai.types.responses.response_create_params.ResponseCreateParams),
    "gemini": gemini_request,
    "ollama": ollama_request,
}

# What no vendor takes, by dialect: changes of a good request.
BREAKS = {
    "anthropic": [("no_such_key", 1), ("max_tokens", "many"), ("messages", [{"role": "tool", "content": "x"}])],
    "chat": [("no_such_key", 1), ("messages", [{"role": "tool", "content": "x"}]), ("tools", [{"type": "function"}])],
    "openrouter": [("no_such_key", 1)],
    "responses": [("no_such_key", 1), ("input", [{"type": "function_call_output"}]), ("store", "maybe")],
    "gemini": [("no_such_key", 1), ("contents", [{"role": "user", "parts": [{"txt": "x"}]}]), ("tools", [{"x": 1}])],
    "ollama": [("no_such_key", 1), ("messages", [{"content": "x"}]), ("stream", "maybe")],
}


def refusal(dialect, body):
    try:
        CHECKS[dialect](body)
    except (ValidationError, ValueError) as error:
        return " ".join(str(error).split())[:600]
    return None


def main(folders):
    files = [file for folder in folders for file in sorted(pathlib.Path(folder).glob("*.json"))]
    looked_at, refused, samples = {}, 0, {}
    for file in files:
        dialect = file.name.split("-")[0]
        body = json.loads(file.read_text())
        looked_at[dialect] = looked_at.get(dialect, 0) + 1
        samples.setdefault(dialect, body)
        if why := refusal(dialect, body):
            refused += 1
            print(f"{file.name}: {why}")
    for dialect, sample in samples.items():
        for key, value in BREAKS[dialect]:
            if refusal(dialect, {**copy.deepcopy(sample), key: value}) is None:
                refused += 1
                print(f"{dialect}: a request with `{key}` = {value!r} was not refused")
    # Recordings are not everywhere, and only they speak to OpenRouter.
    for dialect in CHECKS.keys() - {"openrouter"}:
        count = looked_at.get(dialect, 0)
        print(f"{dialect}: {count} requests")
        if count == 0:
            refused += 1
            print(f"{dialect}: no request was looked at")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
