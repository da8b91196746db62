"""`mcp` 1.x, of the era of sessions."""

import asyncio
from contextlib import asynccontextmanager

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from steps import asked, intruder, steps, tell


@asynccontextmanager
async def connected(spec, headers):
    if "url" in spec:
        client = httpx.AsyncClient(headers=headers, timeout=30)
        transport = streamable_http_client(spec["url"], http_client=client)
    else:
        program, *arguments = spec["command"]
        transport = stdio_client(StdioServerParameters(command=program, args=arguments))
    async with transport as (read, write, *_), ClientSession(read, write) as session:
        yield session, await session.initialize()


async def main():
    spec = asked()
    async with connected(spec, {"Authorization": f"Bearer {spec.get('token')}"}) as (session, greeting):
        tools = (await session.list_tools()).tools
        call = lambda name, arguments, progress: session.call_tool(  # noqa: E731
            name, arguments, progress_callback=progress
        )
        seen = await steps(tools, call)
        seen["protocol"] = greeting.protocolVersion
        seen["server"] = {"name": greeting.serverInfo.name}

    async def without():
        async with connected(spec, {}):
            pass

    if "url" in spec:
        seen["intruder"] = await intruder(without)
    tell(seen)


asyncio.run(main())
