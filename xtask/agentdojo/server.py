"""An MCP server over stdio with the tools of one suite of AgentDojo: server.py TOOLS CALLS RAN.

It does nothing: each call has the result that CALLS holds for it, and is noted in the file RAN.
"""

import json
import sys


def main(tools, calls, ran):
    tools = json.load(open(tools))
    results = {}
    for call in json.load(open(calls)):
        results.setdefault(call["tool"], []).append(call["result"])
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer = {"jsonrpc": "2.0", "id": asked["id"]}
        match asked["method"]:
            case "initialize":
                version = asked["params"]["protocolVersion"]
                answer["result"] = {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "agentdojo", "version": "1"},
                }
            case "tools/list":
                answer["result"] = {
                    "tools": [{"name": name, "description": name, "inputSchema": schema} for name, schema in tools.items()]
                }  # fmt: skip
            case "tools/call":
                name = asked["params"]["name"]
                with open(ran, "a") as file:
                    print(name, file=file)
                left = results.get(name) or ["done"]
                text = left.pop(0) if len(left) > 1 else left[0]
                answer["result"] = {"content": [{"type": "text", "text": text}]}
            case "ping":
                answer["result"] = {}
            case _:
                answer["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
