"""Clients of others, pointed at `converse serve`: each is a small script that does the same steps with its library and
tells what it saw. What it should have seen is here."""

from dataclasses import dataclass

import servers

TOKEN = "a-token-of-interop"
# Twenty calls of a second each take twenty seconds if they run one by one.
AT_ONCE_MS = 10_000


@dataclass
class Client:
    name: str
    script: str
    kit: str = "clients"
    interpreter: str = "node"
    # The newest revision that the client and the gateway share.
    revision: str = "2025-11-25"
    # Whether the client hands on progress.
    progress: bool = True
    # Which of the script's libraries.
    library: str = ""
    # Over HTTP it sends a request only when the one before is answered.
    queues: bool = False


def framework(name, library, kit, **more):
    """An agent framework: it gives results in a form of its own, so less is asked of it."""
    if kit == "libraries":
        return Client(name, "libraries.mjs", kit, library=library, **more)
    return Client(name, "libraries.py", kit, "python", library=library, **more)


# The Python ones use what a server of the same library was installed with.
ALL = [
    Client("typescript-1", "typescript-1.mjs"),
    Client("typescript-2", "typescript-2.mjs", revision="2026-07-28"),
    Client("python-1", "python-1.py", kit="sqlite", interpreter="python"),
    Client("python-2", "python-2.py", kit="time", interpreter="python", revision="2026-07-28"),
    Client("inspector", "inspector.mjs", progress=False),
]
MORE = [
    framework("fastmcp", "fastmcp", "libraries-2"),
    framework("pydantic-ai", "pydantic_ai", "libraries-2"),
    framework("openai-agents", "openai_agents", "libraries-2", queues=True),
    framework("langchain", "langchain", "libraries-1"),
    framework("mcp-use", "mcp_use", "libraries-1"),
    framework("mcpadapt", "mcpadapt", "libraries-1"),
    framework("ai-sdk", "ai", "libraries"),
    framework("langchain-js", "langchain", "libraries"),
]


def problems(seen, client, is_http):
    """Returns what is wrong with what a client saw."""
    if not seen:
        return ["expected: it tells what it saw"]

    def of(key):
        return seen.get(key) or {}

    def refused(key, reason):
        is_refused = of(key).get("failed") is True or isinstance(of(key).get("refused"), str)
        return is_refused and reason in str(of(key))

    def says(key, failed, text):
        return of(key).get("failed") is failed and text in (of(key).get("text") or "")

    tools, intruder = seen.get("tools") or [], seen.get("intruder") or ""
    temperature = (of("structured").get("structured") or {}).get("temperature")
    checks = {
        "all tools, by their ensemble's name": all(tool.startswith("everything__") for tool in tools)
        and all(f"everything__{tool}" in tools for tool in servers.EVERYTHING),
        "20 calls at once": seen.get("many") == 20
        and (client.queues and is_http or seen.get("many_ms", AT_ONCE_MS) < AT_ONCE_MS),
    }
    if client.library:
        invalid = of("invalid").get("text") or "The sum of"
        checks |= {
            "a call succeeds": says("good", False, "Echo: cheese on the moon"),
            # Some frameworks give an error to the model as a result.
            "a call fails, and says why": "Invalid resourceId" in (of("bad").get("text") or ""),
            "wrong arguments are refused": "The sum of" not in invalid,
        }
        return [f"expected: {what}" for what, is_so in checks.items() if not is_so]
    checks |= {
        "a call succeeds": of("good").get("failed") is False and of("good").get("text") == "Echo: cheese on the moon",
        "structured content arrives": isinstance(temperature, (int, float)),
        "an image arrives": "image" in (of("image").get("others") or []),
        "a call fails, and says why": says("bad", True, "Invalid resourceId"),
        "wrong arguments are refused by name": refused("invalid", "/a"),
        "a tool that is not there is refused": refused("unknown", "no-such-tool"),
        "a long call ends well": says("long", False, "completed"),
        # Progress is told four times; the last may come too late to be heard.
        "its progress is heard": not client.progress or seen.get("progress", 0) >= 3,
        "the newest revision that both speak": seen.get("protocol") in (None, client.revision),
        # `auth_required` is the Inspector's own word for 401.
        "nobody comes in without a token": not is_http
        or intruder.startswith("kept out")
        and ("401" in intruder or "auth_required" in intruder),
    }
    return [f"expected: {what}" for what, is_so in checks.items() if not is_so]
