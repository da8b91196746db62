"""Agent frameworks in Python, without a model: each lists the gateway's tools and calls some with its own client.

`libraries.py SPEC LIBRARY`. A framework gives results in a form of its own; here they become (failed, text).
"""

import asyncio
import sys
from contextlib import asynccontextmanager

from steps import asked, briefly, tell


def headers(spec):
    return {"Authorization": f"Bearer {spec['token']}"} if "token" in spec else {}


def texts(result):
    """The result of a client that gives it as the protocol has it."""
    fields = result.model_dump(by_alias=True)
    return fields.get("isError") or False, "\n".join(part.text for part in result.content if part.type == "text")


@asynccontextmanager
async def fastmcp(spec):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if "url" in spec:
        way = StreamableHttpTransport(spec["url"], headers=headers(spec))
    else:
        way = StdioTransport(spec["command"][0], spec["command"][1:])
    async with Client(way) as client:
        tools = [tool.name for tool in await client.list_tools()]
        yield tools, lambda name, given: client.call_tool_mcp(name, given), texts


@asynccontextmanager
async def pydantic_ai(spec):
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    if "url" in spec:
        way = StreamableHttpTransport(spec["url"], headers=headers(spec))
    else:
        way = StdioTransport(spec["command"][0], spec["command"][1:])
    async with MCPToolset(way) as server:
        tools = [tool.name for tool in await server.list_tools()]
        yield tools, lambda name, given: server.direct_call_tool(name, given), lambda result: (False, str(result))


@asynccontextmanager
async def openai_agents(spec):
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    if "url" in spec:
        server = MCPServerStreamableHttp({"url": spec["url"], "headers": headers(spec)}, client_session_timeout_seconds=30)
    else:
        command, *args = spec["command"]
        server = MCPServerStdio({"command": command, "args": args}, client_session_timeout_seconds=30)
    async with server:
        yield [tool.name for tool in await server.list_tools()], server.call_tool, texts


@asynccontextmanager
async def langchain(spec):
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    if "url" in spec:
        way = {"transport": "streamable_http", "url": spec["url"], "headers": headers(spec)}
    else:
        way = {"transport": "stdio", "command": spec["command"][0], "args": spec["command"][1:]}
    async with MultiServerMCPClient({"gateway": way}).session("gateway") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        yield list(tools), lambda name, given: tools[name].ainvoke(given), lambda result: (False, str(result))


@asynccontextmanager
async def mcp_use(spec):
    from mcp_use import MCPClient

    if "url" in spec:
        way = {"url": spec["url"], "headers": headers(spec)}
    else:
        way = {"command": spec["command"][0], "args": spec["command"][1:]}
    client = MCPClient.from_dict({"mcpServers": {"gateway": way}})
    session = await client.create_session("gateway")
    try:
        yield [tool.name for tool in await session.list_tools()], session.call_tool, texts
    finally:
        await client.close_all_sessions()


@asynccontextmanager
async def mcpadapt(spec):
    """What smolagents and others use: it is synchronous, and calls run in a thread of their own."""
    from mcp import StdioServerParameters
    from mcpadapt.core import MCPAdapt, ToolAdapter

    class Plain(ToolAdapter):
        def adapt(self, func, tool):
            return tool.name, func

        def async_adapt(self, afunc, tool):
            return tool.name, afunc

    if "url" in spec:
        way = {"url": spec["url"], "transport": "streamable-http", "headers": headers(spec)}
    else:
        way = StdioServerParameters(command=spec["command"][0], args=spec["command"][1:])
    async with MCPAdapt(way, Plain()) as pairs:
        tools = dict(pairs)
        yield list(tools), lambda name, given: tools[name](given), texts


async def main():
    library, spec = globals()[sys.argv[2]], asked()

    async with library(spec) as (tools, call, read):
        seen = await briefly(tools, call, read)
    tell(seen)


asyncio.run(main())
