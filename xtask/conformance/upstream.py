"""The server behind the gateway: what the conformance suite expects of a server under test, on the official SDK.

The names, texts and kinds of content are those that the suite asks for (0.2.0-alpha.12, checked 2026-11). The suite's
client speaks to the gateway, so each message passes both.
"""

import json

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

# A PNG of one pixel, and a WAV of one silent sample.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
bus = InMemorySubscriptionBus()
# What `test_trigger_*_change` turns on and off.
changed = {"tools": False, "prompts": False}


def text(content):
    return {"type": "text", "text": content}


def embedded(uri, mime, content):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": content}}


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(prompt, tokens=100):
    messages = [{"role": "user", "content": text(prompt)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


STRING, BOOLEAN, ROOTS = {"type": "string"}, {"type": "boolean"}, {"method": "roots/list", "params": {}}
NAME = form("What is your name?", name=STRING)
CONFIRM = form("Please confirm", ok=BOOLEAN)

# --- tools that ask: the questions of each round, and whether they come with a state

ASKING = {
    "elicitation": ([{"user_name": NAME}], False),
    "sampling": ([{"capital_question": sampling("What is the capital of France?")}], False),
    "list_roots": ([{"client_roots": ROOTS}], False),
    "request_state": ([{"confirm": CONFIRM}], True),
    "tampered_state": ([{"confirm": CONFIRM}], True),
    "multiple_inputs": (
        [{"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}],
        True,
    ),
    "multi_round": (
        [
            {"step1": form("Step 1: What is your name?", name=STRING)},
            {"step2": form("Step 2: What is your favorite color?", color=STRING)},
        ],
        True,
    ),
    "capabilities": ([{"user_name": NAME, "greeting": sampling("Generate a greeting", 50)}], False),
}
ASKING = {f"test_input_required_result_{name}": asking for name, asking in ASKING.items()}
CAPABILITY = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def ask(ctx, params, rounds, has_state):
    """Returns the questions of the next round that the client can answer; None after the last one."""
    given = params.input_responses or {}
    at = int(params.request_state or 0)
    if has_state and params.request_state is None:
        given = {}
    if all(key in given for key in rounds[at]):
        at, given = at + 1, {}
    if at == len(rounds):
        return None
    able = ctx.session.client_capabilities
    asked = {key: one for key, one in rounds[at].items() if getattr(able, CAPABILITY[one["method"]], None) is not None}
    if not asked:
        needed = {CAPABILITY[one["method"]]: {} for one in rounds[at].values()}
        data = {"requiredCapabilities": needed}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client cannot be asked", data)
    questions = {key: one for key, one in asked.items() if key not in given}
    return types.InputRequiredResult(input_requests=questions, request_state=str(at) if has_state else None)


# --- tools

OPTIONS = ["option1", "option2", "option3"]


def titled(*words):
    return [{"const": f"value{at}", "title": f"{words[at - 1]} {words[-1]}"} for at in range(1, len(words))]


def with_defaults():
    enum = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    return form(
        "Please check the values", name=STRING | {"default": "John Doe"}, age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5}, status=enum, verified=BOOLEAN | {"default": True},
    )  # fmt: skip


def with_enums():
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    return form(
        "Please choose", untitledSingle=STRING | {"enum": OPTIONS}, legacyEnum=STRING | legacy,
        titledSingle=STRING | {"oneOf": titled("First", "Second", "Third", "Option")},
        untitledMulti={"type": "array", "items": STRING | {"enum": OPTIONS}},
        titledMulti={"type": "array", "items": {"anyOf": titled("First", "Second", "Third", "Choice")}},
    )  # fmt: skip


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}},
    },
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": STRING | {"enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def takes(*names):
    return {"type": "object", "properties": dict.fromkeys(names, STRING), "required": list(names)}


CONTENT = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", json.dumps({"test": "data", "value": 123})),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
    "test_newcomer": [text("is there every other time")],
    "json_schema_2020_12_tool": [text("called")],
    "test_header_parameter": [text("called")],
}
SCHEMAS = {
    "json_schema_2020_12_tool": SCHEMA,
    "test_sampling": takes("prompt"),
    "test_elicitation": takes("message"),
    "test_header_parameter": {"type": "object", "properties": {"region": STRING | {"x-mcp-header": "Region"}}},
}


async def progress(ctx, _):
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
    return [text("Tool with progress executed")]


async def logs(ctx, _):
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("warning", line)
    return [text("Tool with logging executed")]


def change(what, event):
    async def run(ctx, _):
        changed[what] = not changed[what]
        await bus.publish(event)
        return [text("changed")]

    return run


def question(asked):
    """Asks one question, and returns the answer as text."""

    async def run(ctx, params):
        asking = ask(ctx, params, [{"answer": asked(params.arguments or {})}], False)
        answer = (params.input_responses or {}).get("answer")
        return asking or [text(f"Answer: {answer.model_dump_json(by_alias=True, exclude_none=True)}")]

    return run


def rounds(asking):
    async def run(ctx, params):
        return ask(ctx, params, *asking) or [text(f"state-ok: {sorted(params.input_responses or {})}")]

    return run


RUN = {
    "test_tool_with_progress": progress,
    "test_tool_with_logging": logs,
    "test_logging_tool": logs,
    "test_trigger_tool_change": change("tools", ToolsListChanged()),
    "test_trigger_prompt_change": change("prompts", PromptsListChanged()),
    "test_sampling": question(lambda given: sampling(given.get("prompt", ""))),
    "test_elicitation": question(lambda given: form(given.get("message", ""), username=STRING, email=STRING)),
    "test_elicitation_sep1034_defaults": question(lambda _: with_defaults()),
    "test_elicitation_sep1330_enums": question(lambda _: with_enums()),
    "test_streaming_elicitation": question(lambda _: NAME),
    "test_missing_capability": question(lambda _: sampling("Anything?")),
    **{name: rounds(asking) for name, asking in ASKING.items()},
}


async def list_tools(ctx, params):
    names = [name for name in (*CONTENT, *RUN) if name != "test_newcomer" or changed["tools"]]
    tools = [
        {"name": name, "description": f"The tool {name}", "inputSchema": SCHEMAS.get(name, {"type": "object"})}
        for name in names
    ]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx, params):
    content = CONTENT.get(params.name)
    if content is None:
        if params.name not in RUN:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool: {params.name}")
        content = await RUN[params.name](ctx, params)
    if not isinstance(content, list):
        return content
    return types.CallToolResult(content=content, is_error=params.name == "test_error_handling")


# --- prompts, resources and completion

PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
    "test_new_prompt": (),
}
RESOURCES = {
    "test://static-text": ("text/plain", {"text": "This is the content of the static text resource."}),
    "test://static-binary": ("image/png", {"blob": PIXEL}),
    "test://watched-resource": ("text/plain", {"text": "watched"}),
}
TEMPLATE = ("test://template/", "/data")


async def list_prompts(ctx, params):
    def prompt(name, arguments):
        arguments = [{"name": one, "description": f"The argument {one}", "required": True} for one in arguments]
        return {"name": name, "description": f"The prompt {name}", "arguments": arguments}

    names = [name for name in PROMPTS if name != "test_new_prompt" or changed["prompts"]]
    return types.ListPromptsResult(prompts=[prompt(name, PROMPTS[name]) for name in names])


async def get_prompt(ctx, params):
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt":
        asked = {"user_context": form("What context should the prompt use?", context=STRING)}
        if asking := ask(ctx, params, [asked], False):
            return asking
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"unknown prompt: {params.name}")
    contents = {
        "test_prompt_with_arguments": [text(f"Prompt with arguments: {given}")],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [IMAGE, text("Please analyze the image above.")],
    }.get(params.name, [text("This is a simple prompt for testing.")])
    return types.GetPromptResult(messages=[{"role": "user", "content": content} for content in contents])


async def list_resources(ctx, params):
    resources = [
        {"uri": uri, "name": uri.removeprefix("test://"), "description": f"The resource {uri}", "mimeType": mime}
        for uri, (mime, _) in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=resources)


async def list_templates(ctx, params):
    template = {"uriTemplate": "{id}".join(TEMPLATE), "name": "template", "mimeType": "application/json"}
    return types.ListResourceTemplatesResult(resource_templates=[template | {"description": "Data of an id"}])


async def read_resource(ctx, params):
    uri, (before, after) = str(params.uri), TEMPLATE
    mime, content = RESOURCES.get(uri, (None, None))
    if uri.startswith(before) and uri.endswith(after):
        number = uri[len(before) : -len(after)]
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        mime, content = "application/json", {"text": json.dumps(data)}
    if content is None:
        raise MCPError(types.INVALID_PARAMS, "there is no such resource", {"uri": uri})
    return types.ReadResourceResult(contents=[{"uri": uri, "mimeType": mime, **content}])


async def complete(ctx, params):
    values = [value for value in ("test", "testing", "other") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion={"values": values, "total": len(values), "hasMore": False})


async def main():
    server = Server(
        "suite", version="1", on_list_tools=list_tools, on_call_tool=call_tool, on_list_prompts=list_prompts,
        on_get_prompt=get_prompt, on_list_resources=list_resources, on_list_resource_templates=list_templates,
        on_read_resource=read_resource, on_completion=complete, on_subscriptions_listen=ListenHandler(bus),
    )  # fmt: skip
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="suite"))
    async with stdio_server() as (read, write):
        announced = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        await server.run(read, write, server.create_initialization_options(announced))


if __name__ == "__main__":
    anyio.run(main)
