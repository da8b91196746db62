"""Cases of the Python clients: `clients.py BASE TOKEN`. One line of JSON a case: `client`, `case`, `shown` or `wrong`."""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import openai

BASE, TOKEN = sys.argv[1:]
MODEL = "loopback/model-a"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": WEATHER}}]
client = openai.OpenAI(base_url=BASE, api_key=TOKEN, max_retries=0, timeout=60)


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


def llm(*words):
    with tempfile.TemporaryDirectory() as home:
        model = f"- model_id: ours\n  model_name: {MODEL}\n  api_base: {BASE}\n  api_key_name: ours\n  vision: true\n"
        model += "  supports_tools: true\n"
        Path(home, "extra-openai-models.yaml").write_text(model)
        Path(home, "keys.json").write_text(json.dumps({"ours": TOKEN}))
        program = Path(sys.executable).parent / "llm"
        env = {**os.environ, "LLM_USER_PATH": home, "HOME": home}
        return subprocess.run([program, *words], env=env, cwd=home, capture_output=True, text=True, timeout=60, input="")


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
