"""Cases of the Python clients: `clients.py BASE TOKEN`. One line of JSON a case: `client`, `case`, `shown` or `wrong`."""

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import openai

BASE, TOKEN = sys.argv[1:]
MODEL = "loopback/model-a"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": WEATHER}}]
client = openai.OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=120)


def user(content):
    return [{"role": "user", "content": content}]


def create(content, **more):
    return client.chat.completions.create(model=MODEL, messages=user(content), **more)


def equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"expected {wanted!r}, found {found!r}")


def models():
    assert client.models.list().data, "a model is listed"


def whole():
    answer = create("plain")
    equal((answer.choices[0].message.content, answer.choices[0].finish_reason), ("Hello from the model.", "stop"))
    equal(answer.choices[0].message.reasoning_content, "I think first.")
    equal((answer.usage.prompt_tokens, answer.usage.completion_tokens), (1200, 80))


def streamed():
    chunks = list(create("plain", stream=True, stream_options={"include_usage": True}))
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    equal((text, chunks[-1].usage.prompt_tokens), ("Hello from the model.", 1200))


def ours():
    message = create("ours").choices[0].message
    equal((message.content, message.tool_calls), ("The tool said apple.", None))
    event = message.events[0]
    equal((event["ensemble"], event["name"], event["result"]), ("lab", "echo", "apple"))
    return "nothing; `message.events` has it"


def ours_streamed():
    chunks = list(create("ours", stream=True))
    assert not any(choice.delta.tool_calls for one in chunks for choice in one.choices), "no call is left to the client"
    assert any((one.model_extra or {}).get("event") for one in chunks), "a chunk has the event"
    equal("".join(choice.delta.content or "" for one in chunks for choice in one.choices), "The tool said apple.")


def theirs():
    first = create("theirs", tools=TOOLS).choices[0]
    equal(first.finish_reason, "tool_calls")
    call = first.message.tool_calls[0]
    equal((call.function.name, json.loads(call.function.arguments)), ("weather", {"city": "Oslo"}))
    back = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    messages = [*user("theirs"), first.message, back]
    last = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS)
    equal(last.choices[0].message.content, "It is sunny in Oslo.")


def theirs_streamed():
    with client.chat.completions.stream(model=MODEL, messages=user("theirs"), tools=TOOLS) as stream:
        final = stream.get_final_completion()
    equal(final.choices[0].message.tool_calls[0].function.name, "weather")


def picture():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    equal(create([{"type": "text", "text": "picture"}, image]).choices[0].message.content, "I see 1 picture.")


def refused(kind, status, call):
    try:
        call()
    except kind as error:
        equal(error.status_code, status)
        assert error.body["message"], "the error says why"
    else:
        raise AssertionError(f"expected an error with status {status}")


def errors():
    refused(openai.NotFoundError, 404, lambda: client.chat.completions.create(model="zzz", messages=user("plain")))
    refused(openai.BadRequestError, 400, lambda: create("plain", extra_body={"temprature": 1}))
    stranger = openai.OpenAI(base_url=BASE, api_key="x" * 20, max_retries=0)
    refused(openai.AuthenticationError, 401, stranger.models.list)


def failed_turn():
    try:
        create("broken")
    except openai.APIStatusError as error:
        assert "scripted failure" in str(error.body), error.body
    else:
        raise AssertionError("expected the provider's error")


def cancel():
    stream = create("slow", stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()
    whole()


# --- responses


def respond(asked, **more):
    return client.responses.create(model=MODEL, input=asked, **more)


def item(response, kind):
    found = [one for one in response.output if one.type == kind]
    if len(found) != 1:
        raise AssertionError(f"expected one `{kind}`, found {[one.type for one in response.output]}")
    return found[0]


def responded():
    answer = respond("plain")
    equal((answer.status, answer.output_text), ("completed", "Hello from the model."))
    equal((answer.usage.input_tokens, answer.usage.output_tokens), (1200, 80))


def responded_streamed():
    with client.responses.stream(model=MODEL, input="plain") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    equal(("".join(deltas), final.output_text, final.status), ("Hello from the model.", final.output_text, "completed"))


def continued():
    first = respond("plain")
    equal(respond("history", previous_response_id=first.id).output_text, "I know of 2 questions.")
    refused(openai.NotFoundError, 404, lambda: respond("plain", previous_response_id="resp_unknown"))


def background():
    answer = respond("plain", background=True)
    end = time.monotonic() + 120
    while answer.status in ("queued", "in_progress") and time.monotonic() < end:
        time.sleep(0.05)
        answer = client.responses.retrieve(answer.id)
    equal((answer.status, answer.output_text), ("completed", "Hello from the model."))


def background_streamed():
    stream = respond("plain", background=True, stream=True)
    first = next(iter(stream))
    stream.close()
    rest = list(client.responses.retrieve(first.response.id, stream=True, starting_after=first.sequence_number))
    equal([one.sequence_number for one in rest], list(range(1, len(rest) + 1)))
    equal((rest[-1].type, rest[-1].response.output_text), ("response.completed", "Hello from the model."))


def cancelled():
    answer = respond("slow", background=True)
    equal(client.responses.cancel(answer.id).status, "cancelled")
    equal(client.responses.retrieve(answer.id).status, "cancelled")


def stored():
    answer = respond("plain")
    (asked,) = client.responses.input_items.list(answer.id).data
    equal((asked.role, asked.content[0].text), ("user", "plain"))
    client.responses.delete(answer.id)
    refused(openai.NotFoundError, 404, lambda: client.responses.retrieve(answer.id))
    private = respond("plain", store=False)
    refused(openai.NotFoundError, 404, lambda: client.responses.retrieve(private.id))


def mcp_call():
    answer = respond("ours")
    call = item(answer, "mcp_call")
    equal((call.server_label, call.name, json.loads(call.arguments)), ("lab", "echo", {"text": "apple"}))
    equal((call.output, call.error, answer.output_text), ("apple", None, "The tool said apple."))
    return "`mcp_call` items with arguments and result"


def mcp_call_streamed():
    with client.responses.stream(model=MODEL, input="ours") as stream:
        kinds = [event.type for event in stream if "mcp_call" in event.type]
        final = stream.get_final_response()
    equal((kinds[-1], item(final, "mcp_call").output), ("response.mcp_call.completed", "apple"))


def approval(answer):
    first = respond("asked")
    request = item(first, "mcp_approval_request")
    equal((request.server_label, request.name, first.status), ("lab", "danger", "completed"))
    given = {"type": "mcp_approval_response", "approval_request_id": request.id, **answer}
    last = respond([given], previous_response_id=first.id)
    equal(last.output_text, "The file is written.")
    return item(last, "mcp_call")


def approved():
    equal(approval({"approve": True}).output, "wrote note.txt")
    return "`mcp_approval_request` items"


def denied():
    call = approval({"approve": False, "reason": "not on a Monday"})
    equal((call.status, call.output), ("failed", None))
    assert "not on a Monday" in str(call.error), call.error


def function_call():
    tools = [{"type": "function", **TOOLS[0]["function"], "strict": False}]
    first = respond("theirs", tools=tools)
    call = item(first, "function_call")
    equal((call.name, json.loads(call.arguments)), ("weather", {"city": "Oslo"}))
    back = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    last = respond([back], previous_response_id=first.id, tools=tools)
    equal(last.output_text, "It is sunny in Oslo.")
    # The same without storage: the client keeps the items.
    asked = [*user("theirs"), *(one.model_dump(exclude_none=True) for one in first.output), back]
    equal(respond(asked, tools=tools, store=False).output_text, "It is sunny in Oslo.")


def input_image():
    image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"}
    equal(respond(user([{"type": "input_text", "text": "picture"}, image])).output_text, "I see 1 picture.")


def response_errors():
    refused(openai.NotFoundError, 404, lambda: client.responses.create(model="zzz", input="plain"))
    refused(openai.BadRequestError, 400, lambda: respond("plain", extra_body={"temprature": 1}))
    refused(openai.BadRequestError, 400, lambda: respond("plain", tools=[{"type": "web_search"}]))
    try:
        respond("broken")
    except openai.APIStatusError as error:
        assert "scripted failure" in str(error.body), error.body
    else:
        raise AssertionError("expected the provider's error")
    last = list(respond("broken", stream=True))[-1]
    equal((last.type, last.response.status), ("response.failed", "failed"))
    assert "scripted failure" in last.response.error.message, last.response.error


def llm(*words):
    with tempfile.TemporaryDirectory() as home:
        model = f"- model_id: ours\n  model_name: {MODEL}\n  api_base: {BASE}\n  api_key_name: ours\n  vision: true\n"
        model += "  supports_tools: true\n"
        Path(home, "extra-openai-models.yaml").write_text(model)
        Path(home, "keys.json").write_text(json.dumps({"ours": TOKEN}))
        program = Path(sys.executable).parent / "llm"
        env = {**os.environ, "LLM_USER_PATH": home, "HOME": home}
        return subprocess.run([program, *words], env=env, cwd=home, capture_output=True, text=True, timeout=120, input="")


def llm_says(words, text):
    ran = llm("-m", "ours", *words)
    if text not in ran.stdout:
        raise AssertionError(f"expected {text!r}\n{ran.stdout}\n{ran.stderr}")
    return ran.stdout.strip()


def llm_ours():
    llm_says(["ours"], "The tool said apple.")
    return "nothing but the answer"


def llm_theirs():
    code = "def weather(city: str) -> str:\n    'The weather'\n    return 'sunny'\n"
    llm_says(["--functions", code, "theirs"], "It is sunny in Oslo.")


def comply():
    """Returns the cases of llm-comply's suite for Chat Completions, with what is wrong with each."""
    program = Path(sys.executable).parent / "llm-comply"
    words = ["--format", "openai-chat", "-u", BASE, "-k", TOKEN, "-m", MODEL, "--json"]
    ran = subprocess.run([program, *words], capture_output=True, text=True, timeout=200)
    for one in json.loads(ran.stdout)["results"]:
        result = {"client": "llm-comply", "case": one["id"]}
        if one["status"] != "passed":
            result["wrong"] = "; ".join([one["status"], *one.get("errors", [])])
        yield result


def llm_error():
    ran = llm("-m", "ours", "broken")
    assert ran.returncode and "scripted failure" in ran.stderr, ran.stderr


CASES = {
    "openai (Python)": {
        "models": models, "whole": whole, "streamed": streamed, "tools of ours": ours,
        "tools of ours, streamed": ours_streamed, "tools of theirs": theirs, "tools of theirs, streamed": theirs_streamed,
        "images": picture, "errors": errors, "a failed turn": failed_turn, "cancel": cancel,
    },
    "openai (Python), responses": {
        "whole": responded, "streamed": responded_streamed, "continued": continued, "background": background,
        "background, streamed in two parts": background_streamed, "cancel": cancelled, "input items": stored,
        "tools of ours": mcp_call, "tools of ours, streamed": mcp_call_streamed, "approval": approved,
        "denied": denied, "tools of theirs": function_call, "images": input_image, "errors": response_errors,
    },
    "llm": {
        "whole": lambda: llm_says(["--no-stream", "plain"], "Hello from the model.") and None,
        "streamed": lambda: llm_says(["plain"], "Hello from the model.") and None,
        "tools of ours": llm_ours, "tools of theirs": llm_theirs, "errors": llm_error,
    },
}  # fmt: skip

for name, cases in CASES.items():
    for case, run in cases.items():
        result = {"client": name, "case": case}
        try:
            result["shown"] = run()
        except Exception:
            result["wrong"] = traceback.format_exc()
        print(json.dumps(result), flush=True)
for result in comply():
    print(json.dumps(result), flush=True)
