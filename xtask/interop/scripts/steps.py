"""What every Python client does with the gateway: it tells what it saw, and others judge it."""

import asyncio
import json
import sys
import time

PREFIX = "everything__"


def asked():
    """What is asked of us: `{"command": [...]}` or `{"url": ..., "token": ...}`."""
    return json.loads(sys.argv[1])


async def steps(tools, call):
    """`call(name, arguments, on_progress)` gives a result or raises; both libraries have their own fields."""

    async def one(name, arguments, on_progress=None):
        try:
            result = await call(PREFIX + name, arguments, on_progress)
        except Exception as error:  # noqa: BLE001
            return {"refused": str(error), "code": getattr(getattr(error, "error", None), "code", None)}
        result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        parts = result["content"]
        return {
            "failed": result.get("isError", False),
            "text": "\n".join(part["text"] for part in parts if part["type"] == "text"),
            "others": [part["type"] for part in parts if part["type"] != "text"],
            "structured": result.get("structuredContent"),
        }

    seen = {"tools": [tool.name for tool in tools]}
    seen["good"] = await one("echo", {"message": "cheese on the moon"})
    seen["structured"] = await one("get-structured-content", {"location": "Chicago"})
    seen["image"] = await one("get-tiny-image", {})
    seen["bad"] = await one("get-resource-reference", {"resourceType": "Text", "resourceId": -1})
    seen["invalid"] = await one("get-sum", {"a": "x", "b": 3})
    seen["unknown"] = await one("no-such-tool", {})
    seen["progress"] = 0

    async def progress(done, total, message):
        seen["progress"] += 1

    seen["long"] = await one("trigger-long-running-operation", {"duration": 1, "steps": 4}, progress)
    began = time.monotonic()
    long = lambda: one("trigger-long-running-operation", {"duration": 1, "steps": 1})  # noqa: E731
    many = await asyncio.gather(*(long() for _ in range(20)))
    seen["many"] = sum(result.get("failed") is False for result in many)
    seen["many_ms"] = round((time.monotonic() - began) * 1000)
    return seen


async def briefly(names, call, read):
    """The steps that every framework has a way for. `read(result)` gives (failed, text)."""

    async def one(name, arguments):
        try:
            failed, text = read(await call(PREFIX + name, arguments))
        except Exception as error:  # noqa: BLE001
            # A framework tells its model of a failure by an exception.
            failed, text = True, "; ".join(reasons(error))
        return {"failed": failed, "text": text}

    long = lambda: one("trigger-long-running-operation", {"duration": 1, "steps": 1})  # noqa: E731
    seen = {
        "tools": names,
        "good": await one("echo", {"message": "cheese on the moon"}),
        "bad": await one("get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
        "invalid": await one("get-sum", {"a": "x", "b": 3}),
    }
    began = time.monotonic()
    many = await asyncio.gather(*(long() for _ in range(20)))
    seen["many"] = sum(result["failed"] is False for result in many)
    seen["many_ms"] = round((time.monotonic() - began) * 1000)
    return seen


def reasons(error):
    """The words of an error, and of those inside of it."""
    inner = [words for one in getattr(error, "exceptions", ()) for words in reasons(one)]
    cause = error.__cause__ or error.__context__
    return [f"{type(error).__name__}: {error}", *inner, *(reasons(cause) if cause else [])]


async def intruder(connect):
    """How somebody without a token is received."""
    try:
        await connect()
    except BaseException as error:  # noqa: BLE001
        return "kept out: " + "; ".join(reasons(error))
    return "let in"


def tell(seen):
    """The last words of a script: all it saw, as one line."""
    print(json.dumps(seen))
