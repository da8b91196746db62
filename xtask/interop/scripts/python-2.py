"""`mcp` 2.x, which finds out for itself what the server speaks."""

import asyncio

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from steps import asked, intruder, steps, tell


# The library keeps to itself what an HTTP server answers.
statuses = []


async def note(response):
    statuses.append(response.status_code)


def way(spec, headers):
    if "url" in spec:
        client = httpx2.AsyncClient(headers=headers, timeout=30, event_hooks={"response": [note]})
        return streamable_http_client(spec["url"], http_client=client)
    program, *arguments = spec["command"]
    return StdioServerParameters(command=program, args=arguments)


async def main():
    spec = asked()
    async with Client(way(spec, {"Authorization": f"Bearer {spec.get('token')}"})) as client:
        tools = (await client.list_tools()).tools
        call = lambda name, arguments, progress: client.call_tool(  # noqa: E731
            name, arguments, progress_callback=progress
        )
        seen = await steps(tools, call)
        seen["protocol"] = client.protocol_version
        seen["server"] = {"name": client.server_info and client.server_info.name}

    async def without():
        async with Client(way(spec, {})) as client:
            await client.list_tools()

    if "url" in spec:
        statuses.clear()
        seen["intruder"] = f"{await intruder(without)} {statuses}"
    tell(seen)


asyncio.run(main())
