"""More servers, each met once: converse must list the tools that the official client lists, and call one of them where
that needs no network. None has a key that is worth anything."""

from dataclasses import dataclass, field

from servers import says


@dataclass
class Listed:
    name: str
    program: str
    # `{work}` is a directory of the server's own.
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    # The words of a call, and what must be in its result.
    call: tuple = ()
    kit: str = "catalogue"


def app(name, tool, *arguments, then):
    """One of the official examples of servers with views."""
    return Listed(f"app-{name}", f"mcp-{name}-server", ["--stdio"], call=([tool, *arguments], says(then)))


def keyed(name, program, *variables, arguments=()):
    """A server of a vendor's API, which starts with any key and can call nothing."""
    return Listed(name, program, list(arguments), {variable: "no-key" for variable in variables})


def python(name, program, *arguments, kit="catalogue-1", **more):
    return Listed(name, program, list(arguments), kit=kit, **more)


ALL = [
    app("budget-allocator", "get-budget-data", then="Marketing"),
    app("cohort-heatmap", "get-cohort-data", then="retention"),
    app("customer-segmentation", "get-customer-data", then="customers"),
    app("scenario-modeler", "get-scenario-data", then="templates"),
    app("system-monitor", "get-system-info", then="cpu"),
    app("threejs", "learn_threejs", then="THREE"),
    app("shadertoy", "render-shadertoy", "fragmentShader=void mainImage(out vec4 c, in vec2 p) { c = vec4(1.0); }", then="hader"),
    Listed("app-basic", "mcp-server-basic-vanillajs", ["--stdio"], call=(["get-time"], says("20"))),
    keyed("github", "mcp-server-github", "GITHUB_PERSONAL_ACCESS_TOKEN"),
    keyed("gitlab", "mcp-server-gitlab", "GITLAB_PERSONAL_ACCESS_TOKEN"),
    keyed("slack", "mcp-server-slack", "SLACK_BOT_TOKEN", "SLACK_TEAM_ID"),
    keyed("google-maps", "mcp-server-google-maps", "GOOGLE_MAPS_API_KEY"),
    keyed("brave", "mcp-server-brave-search", "BRAVE_API_KEY"),
    keyed("brave-2", "brave-search-mcp-server", "BRAVE_API_KEY"),
    keyed("postgres", "mcp-server-postgres", arguments=["postgresql://127.0.0.1:1/none"]),
    keyed("notion", "notion-mcp-server", "NOTION_TOKEN"),
    keyed("tavily", "tavily-mcp", "TAVILY_API_KEY"),
    keyed("perplexity", "perplexity-mcp", "PERPLEXITY_API_KEY"),
    keyed("charts", "mcp-server-chart"),
    keyed("browsermcp", "mcp-server-browsermcp"),
    Listed("argocd", "argocd-mcp", ["stdio"], {"ARGOCD_BASE_URL": "http://127.0.0.1:1", "ARGOCD_API_TOKEN": "no-key"}),
    Listed("taskmanager", "mcp-taskmanager", call=(["list_requests"], says("equest"))),
    Listed("knowledge-graph", "mcp-knowledge-graph", ["--memory-path", "{work}/graph.jsonl"],
           call=(["read_graph"], says("entities"))),
    Listed("hello", "mcp-hello-world", call=(["echo", "message=cheese"], says("cheese"))),
    Listed("code-runner", "mcp-server-code-runner",
           call=(["run-code", "languageId=javascript", "code=console.log(6 * 7)"], says("42"))),
    Listed("drawio", "drawio-mcp"),
    python("arxiv", "arxiv-mcp-server", "--storage-path", "{work}", call=(["list_papers"], says("papers"))),
    python("shell", "mcp-shell-server", environment={"ALLOW_COMMANDS": "echo"},
           call=(["shell_execute", 'command=["echo", "cheese"]', "directory={work}"], says("cheese"))),
    python("code-index", "code-index-mcp", call=(["get_settings_info"], says("settings"))),
    python("powerpoint", "ppt_mcp_server", call=(["create_presentation"], says("presentation"))),
    python("text-editor", "mcp-text-editor"),
    python("tree-sitter", "mcp-server-tree-sitter", call=(["list_languages"], says("python"))),
    python("word", "word_mcp_server", kit="catalogue-2",
           call=(["create_document", "filename={work}/moon.docx"], says("moon.docx"))),
    python("excel", "excel-mcp-server", "stdio", kit="catalogue-2",
           call=(["create_workbook", "path={work}/moon.xlsx"], says("moon.xlsx"))),
    python("duckduckgo", "duckduckgo-mcp-server", kit="catalogue-2"),
    python("math", "math-mcp-learning-server", kit="catalogue-2", call=(["calculate", "expression=6 * 7"], says("42"))),
    python("wikipedia", "wikipedia-mcp", kit="catalogue-2"),
    python("aws-documentation", "awslabs.aws-documentation-mcp-server", kit="catalogue-2"),
]  # fmt: skip
